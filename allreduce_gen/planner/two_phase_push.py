"""Two-phase all-reduce by writing: whoever has a chunk stores it where it is needed.

    rank 0   x to row 0 of 0 1 2 3 | A | +rows 0 1 2 3 | c0 to 0 1 2 3 | B | out
    rank 1   x to row 1 of 1 2 3 0 | A | +rows 1 2 3 0 | c1 to 1 2 3 0 | B | out
    rank 2   x to row 2 of 2 3 0 1 | A | +rows 2 3 0 1 | c2 to 2 3 0 1 | B | out
    rank 3   x to row 3 of 3 0 1 2 | A | +rows 3 0 1 2 | c3 to 3 0 1 2 | B | out

A: all rows are filled. B: all chunks are there. Chunk r of everybody's x goes to rank
r, which has a row for each rank; the sum goes to everybody's result window. Nothing is
staged and nobody waits for an answer. The remote bytes, and the order in which the
owner combines, are those of two_phase.py. Windows may persist as they are: B says that
the rows are read, and A of the next call that the results are.
"""

from __future__ import annotations

from allreduce_gen.ir.expr import MY_RANK, NUM_RANKS, ZERO, Name
from allreduce_gen.ir.plan import Plan, Window
from allreduce_gen.ir.steps import (
    INPUT,
    OUTPUT,
    Binding,
    Move,
    Phase,
    Place,
    Reduce,
)
from allreduce_gen.spec import AllReduceSpec, Order
from allreduce_gen.targets import accumulator

from .assembling import assemble
from .barriers import clear_slots, make_barrier
from .grids import Grid, lay_grid
from .reducing import scale_of
from .rows import allot_rows
from .teams import WORLD, in_order
from .tiling import reduce_bytes

_CHUNK, _MY_CHUNK = Name("CHUNK"), Name("my_chunk")


def plan_two_phase_push(spec: AllReduceSpec) -> Plan:
    """Scatter; barrier; combine and spread; barrier; stage out."""
    grid = lay_grid(spec, spec.num_ranks, reduce_bytes(spec))
    rows = allot_rows(scattered=1, spread=1)
    scattered, spread = (make_barrier(spec, row, clears=False) for row in rows)
    copies = Window(name="copies", rows=NUM_RANKS, width=_CHUNK, dtype=spec.dtype)
    return assemble(
        spec,
        (
            _scatter(grid),
            *scattered.steps,
            _combine(spec, grid),
            _spread(grid),
            *spread.steps,
            _stage_out(grid),
            *clear_slots(spec),
        ),
        rows=rows,
        windows=(copies, grid.window("result", spec.dtype)),
        constants=(*grid.constants, *scattered.constants),
        bindings=(Binding(name="my_chunk", value=MY_RANK * _CHUNK),),
    )


def _scatter(grid: Grid) -> Move:
    """Chunk r of this rank's elements, to its row on rank r."""
    ranks = WORLD.everybody()
    return Move(
        name="scatter",
        phase=Phase.REDUCE_SCATTER,
        source=Place(window=INPUT, at=ranks.rank * _CHUNK),
        target=Place(window="copies", at=ZERO, row=MY_RANK, peer=ranks.rank),
        span=grid.span(limited=True),
        tile_name="piece",
        peers=ranks,
    )


def _combine(spec: AllReduceSpec, grid: Grid) -> Reduce:
    """The rows, into this rank's chunk of its result."""
    ascending = spec.order is Order.ASCENDING
    ranks = in_order(spec, "peer", 1) if ascending else WORLD.others()
    return Reduce(
        name="combine",
        phase=Phase.REDUCE_SCATTER,
        guard=grid.holds_elements(_MY_CHUNK),
        own=Place(window="copies", at=ZERO, row=ZERO if ascending else MY_RANK),
        contribution=Place(window="copies", at=ZERO, row=ranks.rank),
        target=Place(window="result", at=_MY_CHUNK),
        span=grid.span(),
        peers=ranks,
        op=spec.op,
        dtype=spec.dtype,
        accumulator=accumulator(spec),
        scale=scale_of(spec),
    )


def _spread(grid: Grid) -> Move:
    """This rank's chunk of the result, to all others; each tile is loaded once."""
    ranks = WORLD.others()
    return Move(
        name="spread",
        phase=Phase.ALL_GATHER,
        guard=grid.holds_elements(_MY_CHUNK),
        source=Place(window="result", at=_MY_CHUNK),
        target=Place(window="result", at=_MY_CHUNK, peer=ranks.rank),
        span=grid.span(),
        tile_name="reduced",
        targets=ranks,
    )


def _stage_out(grid: Grid) -> Move:
    return Move(
        name="stage_out",
        phase=Phase.STAGE_OUT,
        source=Place(window="result", at=ZERO),
        target=Place(window=OUTPUT, at=ZERO),
        span=grid.staging.span,
        tile_name="total",
    )
