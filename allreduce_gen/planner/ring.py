"""Ring all-reduce: everybody deals with the two neighbours only.

Chunks travel to the right. In the first half each rank adds its own part to the chunk
that its left neighbour has just added to; then finished chunks are passed on:

    rank 0   stage | +c3 +c2 +c1 from 3 | c0 c3 c2 from 3 | out
    rank 1   stage | +c0 +c3 +c2 from 0 | c1 c0 c3 from 0 | out
    rank 2   stage | +c1 +c0 +c3 from 1 | c2 c1 c0 from 1 | out
    rank 3   stage | +c2 +c1 +c0 from 2 | c3 c2 c1 from 2 | out

Before each of its 2(P-1) reads a rank waits for its left neighbour alone, which has a
signal row for each. Remote bytes a rank: 2(P-1)/P of the vector, the least that there
is. All is done in place: a chunk is written again only after the right neighbour has
read it, for what is written has come through that neighbour. Windows that persist
need one more handshake: the right neighbour has made its last read.
"""

from __future__ import annotations

from allreduce_gen.ir.expr import MY_RANK, NUM_RANKS, Expr, Name
from allreduce_gen.ir.plan import Plan
from allreduce_gen.ir.steps import Binding, Block, Move, OnePeer, Phase, Place, Step
from allreduce_gen.spec import AllReduceSpec, Reuse
from allreduce_gen.targets import accumulator

from .assembling import assemble
from .grids import Grid, chunk_at, lay_grid
from .handshakes import shake_hands
from .reducing import combine_partials
from .rows import allot_rows
from .staging import exchange_bytes, stage_in, stage_out

LEFT, RIGHT, STEP = Name("left"), Name("right"), Name("step")
ROUNDS = NUM_RANKS - 1
NEIGHBOURS = (
    Binding(name="right", value=(MY_RANK + 1) % NUM_RANKS),
    Binding(name="left", value=(MY_RANK + NUM_RANKS - 1) % NUM_RANKS),
)

_START = Name("start")


def plan_ring(spec: AllReduceSpec) -> Plan:
    """Stage in; P-1 reads that add; P-1 reads that pass on; stage out."""
    grid = lay_grid(spec, spec.num_ranks, exchange_bytes(spec))
    rounds = {"reduce": spec.num_ranks - 1, "gather": spec.num_ranks - 1}
    persists = spec.reuse is not Reuse.ONCE
    rows = allot_rows(**rounds, **({"done": 1} if persists else {}))
    steps = (
        stage_in(spec, grid),
        _half(spec, grid, Phase.REDUCE_SCATTER, ROUNDS * (STEP + 1)),
        _half(spec, grid, Phase.ALL_GATHER, ROUNDS * STEP),
        *(_done(spec) if persists else ()),
        stage_out(spec, grid),
    )
    return assemble(
        spec,
        steps,
        rows=rows,
        windows=(grid.window("data", accumulator(spec)),),
        constants=grid.constants,
        bindings=NEIGHBOURS,
    )


def _half(spec: AllReduceSpec, grid: Grid, phase: Phase, back: Expr) -> Block:
    """P-1 rounds: the chunk `back` places on (P-1 places on are one back)."""
    name = "reduce" if phase is Phase.REDUCE_SCATTER else "gather"
    row = Name(f"ROW_{name.upper()}") + STEP
    return Block(
        name=f"{name}_rounds",
        phase=phase,
        rounds=ROUNDS,
        var=STEP.name,
        bindings=(
            Binding(name="chunk", value=(MY_RANK + back) % NUM_RANKS),
            Binding(name=_START.name, value=chunk_at(grid, Name("chunk"))),
        ),
        body=(
            *shake_hands(spec, name, row, to=RIGHT, source=LEFT),
            read_chunk(spec, grid, phase, LEFT, _START),
        ),
    )


def read_chunk(
    spec: AllReduceSpec, grid: Grid, phase: Phase, peer: Name, start: Expr
) -> Step:
    """Add `peer`'s chunk at `start` to this rank's, or take it over."""
    here = Place(window="data", at=start)
    there = Place(window="data", at=start, peer=peer)
    name = f"{phase.name.lower()}_from_{peer.name}"
    guard = grid.holds_elements(start)
    if phase is Phase.REDUCE_SCATTER:
        return combine_partials(
            spec,
            name,
            phase,
            guard=guard,
            own=here,
            contribution=there,
            target=here,
            span=grid.span(),
            peers=OnePeer(peer=peer),
        )
    return Move(
        name=name,
        phase=phase,
        guard=guard,
        source=there,
        target=here,
        span=grid.span(),
        tile_name="reduced",
    )


def _done(spec: AllReduceSpec) -> tuple[Step, ...]:
    return shake_hands(spec, "done", Name("ROW_DONE"), to=LEFT, source=RIGHT)
