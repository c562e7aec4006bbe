"""Two-phase all-reduce: reduce-scatter, then all-gather.

Rank r owns chunk r: it adds everybody's chunk r, then everybody reads it back.

    rank 0   stage | A | +c0 from 1 2 3 | B | c0 c1 c2 c3
    rank 1   stage | A | +c1 from 2 3 0 | B | c1 c2 c3 c0
    rank 2   stage | A | +c2 from 3 0 1 | B | c2 c3 c0 c1
    rank 3   stage | A | +c3 from 0 1 2 | B | c3 c0 c1 c2

A: all inputs are staged. B: all chunks are reduced. Remote bytes a rank: 2(P-1)/P of
the vector, which is the least that any all-reduce can move through one port
(Patarasuk and Yuan 2009). One owner a chunk: every rank gets the same bits.
"""

from __future__ import annotations

from allreduce_gen.ir.expr import MY_RANK, Const, Name
from allreduce_gen.ir.plan import (
    Binding,
    Constant,
    Edge,
    EdgeKind,
    Plan,
    Window,
    build_graph,
)
from allreduce_gen.ir.steps import Move, Phase, Place, Reduce
from allreduce_gen.spec import AllReduceSpec

from .barriers import all_peers_barrier, all_ranks, allocate_rows, other_ranks
from .tiling import Tiling, choose_tile, split, tile_constant

_LIVE_TILES = 2  # the accumulator and one contribution
_MY_CHUNK = Name("my_chunk")
_OWNER = Name("owner")
_PEER = Name("peer")
_CHUNK = Name("CHUNK")


def plan_two_phase(spec: AllReduceSpec) -> Plan:
    """Stage in, barrier, reduce-scatter, barrier, all-gather."""
    size = Constant(name="SIZE", value=spec.size)
    chunk = Constant(name="CHUNK", value=spec.size // spec.num_ranks)
    tile = tile_constant(choose_tile(spec, _LIVE_TILES))
    staging = split(size, tile.value, prefix="STAGE_")
    chunking = split(chunk, tile.value)
    rows = allocate_rows("staged", "reduced")
    staged = all_peers_barrier("staged", rows[0])
    reduced = all_peers_barrier("reduced", rows[1])
    stage_in = _stage_in(staging)
    reduce_scatter = _reduce_scatter(spec, chunking)
    all_gather = _all_gather(chunking)
    return Plan(
        spec=spec,
        graph=build_graph(
            (stage_in, *staged.steps, reduce_scatter, *reduced.steps, all_gather),
            (
                _data(stage_in.name, reduce_scatter.name, "data"),
                staged.edge,
                _data(reduce_scatter.name, all_gather.name, "result"),
                reduced.edge,
            ),
        ),
        constants=(
            Constant(name="NUM_RANKS", value=spec.num_ranks),
            size,
            chunk,
            *((tile,) if staging.constants else ()),
            *staging.constants,
            *chunking.constants,
        ),
        signal_rows=rows,
        windows=tuple(
            Window(name=name, rows=Const(1), width=Name("SIZE"), dtype=spec.dtype)
            for name in ("data", "result")
        ),
        bindings=(Binding(name="my_chunk", value=MY_RANK * _CHUNK),),
    )


def _data(source: str, target: str, window: str) -> Edge:
    return Edge(source=source, target=target, kind=EdgeKind.DATA, carrier=window)


def _stage_in(tiling: Tiling) -> Move:
    return Move(
        name="stage_in",
        phase=Phase.STAGE_IN,
        source=Place(window="x", at=Const(0)),
        target=Place(window="data", at=Const(0)),
        span=tiling.span,
        tile_name="staged",
    )


def _reduce_scatter(spec: AllReduceSpec, tiling: Tiling) -> Reduce:
    return Reduce(
        name="reduce_scatter",
        phase=Phase.REDUCE_SCATTER,
        own=Place(window="data", at=_MY_CHUNK),
        contribution=Place(window="data", at=_MY_CHUNK, peer=_PEER),
        target=Place(window="result", at=_MY_CHUNK),
        span=tiling.span,
        peers=other_ranks(),
        op=spec.op,
        accumulate=spec.dtype,
    )


def _all_gather(tiling: Tiling) -> Move:
    owned = _OWNER * _CHUNK
    return Move(
        name="all_gather",
        phase=Phase.ALL_GATHER,
        source=Place(window="result", at=owned, peer=_OWNER),
        target=Place(window="y", at=owned),
        span=tiling.span,
        tile_name="reduced",
        peers=all_ranks("owner"),
    )
