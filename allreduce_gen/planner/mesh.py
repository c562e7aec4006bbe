"""Mesh all-reduce: everybody reads everything.

    rank 0   stage | A | + all of 0 1 2 3
    rank 1   stage | A | + all of 0 1 2 3
    rank 2   stage | A | + all of 0 1 2 3
    rank 3   stage | A | + all of 0 1 2 3

A: all inputs are staged. One round, and (P-1) vectors of remote bytes a rank. Nobody
owns a chunk, so every rank combines in the order of the ranks, for all to get the same
bits. Windows that persist need a second barrier, B: the next call stages over inputs
that peers may still be reading.

Pushed, every rank writes its elements into a row of its own on every peer, and after
the barrier each combines its rows where they are:

    rank 0   -> row 0 of 0 1 2 3 | A | + rows 0 1 2 3
"""

from __future__ import annotations

from allreduce_gen.ir.expr import MY_RANK, NUM_RANKS, ZERO
from allreduce_gen.ir.plan import Plan
from allreduce_gen.ir.steps import INPUT, OUTPUT, Move, Peers, Phase, Place, Reduce
from allreduce_gen.spec import AllReduceSpec, Reuse, Transfer
from allreduce_gen.targets import accumulator

from .assembling import assemble
from .barriers import clear_slots, make_barrier
from .grids import Grid, lay_grid
from .reducing import scale_of
from .rows import allot_rows
from .teams import WORLD, in_order
from .tiling import reduce_bytes


def plan_mesh(spec: AllReduceSpec) -> Plan:
    """Stage in, or push to all peers; barrier; combine all."""
    grid = lay_grid(spec, 1, reduce_bytes(spec))
    pushes = spec.transfer is Transfer.PUSH
    names = ("staged",) if spec.reuse is Reuse.ONCE else ("staged", "done")
    rows = allot_rows(**dict.fromkeys(names, 1))
    barriers = [make_barrier(spec, row, clears=False) for row in rows]
    steps = (
        _push(grid) if pushes else _stage_in(grid),
        *barriers[0].steps,
        combine_rows(spec, grid) if pushes else _combine_windows(spec, grid),
        *(step for one in barriers[1:] for step in one.steps),
        *clear_slots(spec),
    )
    window = (
        grid.window("inputs", spec.dtype, NUM_RANKS)
        if pushes
        else grid.window("data", spec.dtype)
    )
    return assemble(
        spec,
        steps,
        rows=rows,
        windows=(window,),
        constants=(
            grid.size,
            grid.width,
            *grid.staging.constants,
            *barriers[0].constants,
        ),
    )


def _stage_in(grid: Grid) -> Move:
    return Move(
        name="stage_in",
        phase=Phase.STAGE_IN,
        source=Place(window=INPUT, at=ZERO),
        target=Place(window="data", at=ZERO),
        span=grid.staging.span,
        tile_name="staged",
    )


def _push(grid: Grid) -> Move:
    """Each tile is loaded once, then stored to every rank in turn."""
    ranks = WORLD.everybody()
    return Move(
        name="push",
        phase=Phase.STAGE_IN,
        source=Place(window=INPUT, at=ZERO),
        target=Place(window="inputs", at=ZERO, row=MY_RANK, peer=ranks.rank),
        span=grid.staging.span,
        tile_name="piece",
        targets=ranks,
    )


def combine_rows(spec: AllReduceSpec, grid: Grid) -> Reduce:
    """Combine the rows of this rank's window into y, rank 0's first."""
    rows = in_order(spec, "peer", 1)
    first = Place(window="inputs", at=ZERO)
    other = Place(window="inputs", at=ZERO, row=rows.rank)
    return _combine(spec, grid, first, other, rows)


def _combine_windows(spec: AllReduceSpec, grid: Grid) -> Reduce:
    """Combine everybody's data window into y, rank 0's first."""
    ranks = in_order(spec, "peer", 1)
    first = Place(window="data", at=ZERO, peer=ZERO)
    other = Place(window="data", at=ZERO, peer=ranks.rank)
    return _combine(spec, grid, first, other, ranks)


def _combine(
    spec: AllReduceSpec, grid: Grid, first: Place, other: Place, ranks: Peers
) -> Reduce:
    return Reduce(
        name="combine",
        phase=Phase.REDUCE,
        own=first,
        contribution=other,
        target=Place(window=OUTPUT, at=ZERO),
        span=grid.staging.span,
        peers=ranks,
        op=spec.op,
        dtype=spec.dtype,
        accumulator=accumulator(spec),
        scale=scale_of(spec),
    )
