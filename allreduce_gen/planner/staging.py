"""Between the kernel's arguments and its windows.

Windows that hold partial results are of the accumulator's type: elements are widened
once when they come in, and scaled and rounded once when they go out.
"""

from __future__ import annotations

from allreduce_gen.ir.expr import ZERO, Expr
from allreduce_gen.ir.steps import INPUT, OUTPUT, Conversion, Move, Phase, Place
from allreduce_gen.spec import AllReduceSpec, DType
from allreduce_gen.targets import accumulator

from .grids import Grid
from .reducing import scale_of


def exchange_bytes(spec: AllReduceSpec) -> int:
    """Live bytes an element while two partial results are combined.

    Staging needs no more: the element as it comes, and the same widened.
    """
    return 2 * accumulator(spec).nbytes


def stage_in(spec: AllReduceSpec, grid: Grid, window: str = "data") -> Move:
    """The rank's elements, into the first row of `window` in the accumulator's type."""
    return Move(
        name="stage_in",
        phase=Phase.STAGE_IN,
        source=Place(window=INPUT, at=ZERO),
        target=Place(window=window, at=ZERO),
        span=grid.staging.span,
        tile_name="staged",
        conversion=_conversion(spec.dtype, accumulator(spec)),
    )


def stage_out(
    spec: AllReduceSpec, grid: Grid, row: Expr = ZERO, window: str = "data"
) -> Move:
    """The result, from `row` of `window`, scaled and rounded where that is due."""
    return Move(
        name="stage_out",
        phase=Phase.STAGE_OUT,
        source=Place(window=window, at=ZERO, row=row),
        target=Place(window=OUTPUT, at=ZERO),
        span=grid.staging.span,
        tile_name="total",
        scale=scale_of(spec),
        conversion=_conversion(accumulator(spec), spec.dtype),
    )


def _conversion(source: DType, target: DType) -> Conversion | None:
    return Conversion(source=source, target=target) if source is not target else None
