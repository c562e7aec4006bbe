"""Dissemination: everybody gets everything in log2 P rounds of one partner each.

    rank 0   stage | v1 from 1 | v2 v3 from 2 | + v0 v1 v2 v3
    rank 1   stage | v2 from 2 | v3 v0 from 3 | + v0 v1 v2 v3
    rank 2   stage | v3 from 3 | v0 v1 from 0 | + v0 v1 v2 v3
    rank 3   stage | v0 from 0 | v1 v2 from 1 | + v0 v1 v2 v3

In round k a rank takes over, from the rank 2^k further on, the vectors that it has not:
2^k of them, or what is missing in the last round, so any number of ranks will do. That
is a mesh's (P-1) vectors of remote bytes and P vectors of window, with ceil(log2 P)
notifies a rank in place of P-1: right for few elements and many ranks. All combine in
the order of the ranks, so every rank gets the same bits. No two ranks meet twice: one
signal row does.
"""

from __future__ import annotations

from allreduce_gen.ir.constants import Constant
from allreduce_gen.ir.expr import MY_RANK, NUM_RANKS, ONE, ZERO, Minimum, Name
from allreduce_gen.ir.plan import Plan
from allreduce_gen.ir.steps import INPUT, Binding, Block, Move, PeerLoop, Phase, Place
from allreduce_gen.spec import AllReduceSpec

from .assembling import assemble
from .barriers import exit_rows, make_exit
from .grids import Grid, lay_grid
from .handshakes import shake_hands
from .mesh import combine_rows
from .rows import allot_rows
from .teams import WORLD
from .tiling import reduce_bytes

_STEP, _REACH, _COUNT = Name("step"), Name("reach"), Name("count")
_AHEAD, _BEHIND = Name("ahead"), Name("behind")


def plan_dissemination(spec: AllReduceSpec) -> Plan:
    """Stage in; rounds that double what a rank has; combine all."""
    grid = lay_grid(spec, 1, reduce_bytes(spec))
    rows = allot_rows(gather=1, **exit_rows(spec))
    exit_barrier = make_exit(spec, rows)
    stage_in = Move(
        name="stage_in",
        phase=Phase.STAGE_IN,
        source=Place(window=INPUT, at=ZERO),
        target=Place(window="inputs", at=ZERO, row=MY_RANK),
        span=grid.staging.span,
        tile_name="staged",
    )
    depth = (spec.num_ranks - 1).bit_length()
    return assemble(
        spec,
        (
            stage_in,
            _gather(spec, grid),
            combine_rows(spec, grid),
            *exit_barrier.steps,
        ),
        rows=rows,
        windows=(grid.window("inputs", spec.dtype, NUM_RANKS),),
        constants=(
            *grid.constants,
            Constant(name="ROUNDS", value=depth),
            *exit_barrier.constants,
        ),
    )


def _gather(spec: AllReduceSpec, grid: Grid) -> Block:
    owners = PeerLoop(
        name="owner",
        var="index",
        peer=(_AHEAD + Name("index")) % NUM_RANKS,
        start=ZERO,
        stop=_COUNT,
    )
    take = Move(
        name="take_vectors",
        phase=Phase.ALL_GATHER,
        source=Place(window="inputs", at=ZERO, row=owners.rank, peer=_AHEAD),
        target=Place(window="inputs", at=ZERO, row=owners.rank),
        span=grid.span(),
        tile_name="vector",
        peers=owners,
    )
    return Block(
        name="gather_rounds",
        phase=Phase.ALL_GATHER,
        rounds=Name("ROUNDS"),
        var=_STEP.name,
        bindings=(
            Binding(name="reach", value=ONE << _STEP),
            Binding(name="count", value=Minimum(_REACH, NUM_RANKS - _REACH)),
            Binding(name="ahead", value=WORLD.around(_REACH)),
            Binding(name="behind", value=WORLD.around((NUM_RANKS - 1) * _REACH)),
        ),
        body=(
            *shake_hands(spec, "gather", Name("ROW_GATHER"), to=_BEHIND, source=_AHEAD),
            take,
        ),
    )
