"""One rank: its own elements are the result.

    rank 0   x -> y

No window, no signal, no barrier.
"""

from __future__ import annotations

from allreduce_gen.ir.expr import Const
from allreduce_gen.ir.plan import Constant, Plan, build_graph
from allreduce_gen.ir.steps import Move, Phase, Place
from allreduce_gen.spec import AllReduceSpec

from .tiling import choose_tile, split, tile_constant

_LIVE_TILES = 1


def plan_identity(spec: AllReduceSpec) -> Plan:
    """Copy x to y."""
    size = Constant(name="SIZE", value=spec.size)
    tile = tile_constant(choose_tile(spec, _LIVE_TILES))
    tiling = split(size, tile.value)
    copy = Move(
        name="copy",
        phase=Phase.STAGE_OUT,
        source=Place(window="x", at=Const(0)),
        target=Place(window="y", at=Const(0)),
        span=tiling.span,
        tile_name="own",
    )
    return Plan(
        spec=spec,
        graph=build_graph((copy,), ()),
        constants=(
            Constant(name="NUM_RANKS", value=spec.num_ranks),
            size,
            *((tile,) if tiling.constants else ()),
            *tiling.constants,
        ),
        signal_rows=(),
        windows=(),
    )
