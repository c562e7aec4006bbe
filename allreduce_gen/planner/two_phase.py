"""Two-phase all-reduce: reduce-scatter, then all-gather.

Rank r owns chunk r: it adds everybody's chunk r, then everybody reads it back.

    rank 0   stage | A | +c0 from 1 2 3 | B | c0 c1 c2 c3
    rank 1   stage | A | +c1 from 2 3 0 | B | c1 c2 c3 c0
    rank 2   stage | A | +c2 from 3 0 1 | B | c2 c3 c0 c1
    rank 3   stage | A | +c3 from 0 1 2 | B | c3 c0 c1 c2

A: all inputs are staged. B: all chunks are reduced. Remote bytes a rank: 2(P-1)/P of
the vector, which is the least that any all-reduce can move through one port
(Patarasuk and Yuan 2009). One owner a chunk: every rank gets the same bits.

In place, the sum goes back into the data window: rank r writes only chunk r, which
while others still read is read by rank r alone. Windows that persist then need a third
barrier, C: the next call stages over chunks that peers may still be gathering.
"""

from __future__ import annotations

from dataclasses import replace

from allreduce_gen.ir.expr import MY_RANK, ONE, ZERO, Name
from allreduce_gen.ir.plan import Plan, Window
from allreduce_gen.ir.steps import Binding, Move, Phase, Place, Reduce, Span
from allreduce_gen.spec import AllReduceSpec, Order, Reuse, Transfer
from allreduce_gen.targets import accumulator

from .assembling import assemble
from .barriers import clear_slots, make_barrier
from .chunking import Chunking, cut
from .reducing import scale_of
from .rows import allot_rows
from .teams import WORLD, in_order
from .tiling import Tiling, choose_tile, reduce_bytes, split, split_exact
from .two_phase_push import plan_two_phase_push

_MY_CHUNK = Name("my_chunk")
_OWNER = Name("owner")
_CHUNK = Name("CHUNK")


def plan_two_phase(spec: AllReduceSpec) -> Plan:
    """Stage in, barrier, reduce-scatter, barrier, all-gather; or all that pushed."""
    if spec.transfer is Transfer.PUSH:
        return plan_two_phase_push(spec)
    chunking = cut(spec, spec.num_ranks)
    tile = choose_tile(spec, reduce_bytes(spec))
    staging = split_exact(spec, chunking.size, chunking.width, tile)
    owned = split(chunking.chunk, tile)
    gathered = replace(
        owned.span,
        limit=chunking.limit,
        may_be_empty=chunking.has_empty_tiles(tile),
    )
    rows = allot_rows(**dict.fromkeys(_barrier_names(spec), 1))
    barriers = [make_barrier(spec, row, clears=False) for row in rows]
    result = "data" if spec.in_place else "result"
    steps = (
        _stage_in(staging),
        *barriers[0].steps,
        _reduce_scatter(spec, chunking, owned, result),
        *barriers[1].steps,
        _all_gather(gathered, result),
        *(step for one in barriers[2:] for step in one.steps),
        *clear_slots(spec),
    )
    return assemble(
        spec,
        steps,
        rows=rows,
        windows=_windows(spec, chunking, result),
        constants=(
            *chunking.constants,
            *staging.constants,
            *owned.constants,
            *barriers[0].constants,
        ),
        bindings=(Binding(name="my_chunk", value=MY_RANK * _CHUNK),),
    )


def _barrier_names(spec: AllReduceSpec) -> tuple[str, ...]:
    needs_exit = spec.in_place and spec.reuse is not Reuse.ONCE
    return ("staged", "reduced", "gathered") if needs_exit else ("staged", "reduced")


def _windows(
    spec: AllReduceSpec, chunking: Chunking, result: str
) -> tuple[Window, ...]:
    return tuple(
        Window(
            name=name,
            rows=ONE,
            width=Name(chunking.width.name),
            dtype=spec.dtype,
        )
        for name in dict.fromkeys(("data", result))
    )


def _stage_in(tiling: Tiling) -> Move:
    return Move(
        name="stage_in",
        phase=Phase.STAGE_IN,
        source=Place(window="x", at=ZERO),
        target=Place(window="data", at=ZERO),
        span=tiling.span,
        tile_name="staged",
    )


def _reduce_scatter(
    spec: AllReduceSpec, chunking: Chunking, tiling: Tiling, result: str
) -> Reduce:
    ascending = spec.order is Order.ASCENDING
    peers = in_order(spec, "peer", 1) if ascending else WORLD.others()
    return Reduce(
        name="reduce_scatter",
        phase=Phase.REDUCE_SCATTER,
        guard=Name("SIZE") > _MY_CHUNK if chunking.has_idle_owners else None,
        own=Place(window="data", at=_MY_CHUNK, peer=ZERO if ascending else None),
        contribution=Place(window="data", at=_MY_CHUNK, peer=peers.rank),
        target=Place(window=result, at=_MY_CHUNK),
        span=tiling.span,
        peers=peers,
        op=spec.op,
        dtype=spec.dtype,
        accumulator=accumulator(spec),
        scale=scale_of(spec),
    )


def _all_gather(span: Span, result: str) -> Move:
    owned = _OWNER * _CHUNK
    return Move(
        name="all_gather",
        phase=Phase.ALL_GATHER,
        source=Place(window=result, at=owned, peer=_OWNER),
        target=Place(window="y", at=owned),
        span=span,
        tile_name="reduced",
        peers=WORLD.everybody("owner"),
    )
