"""On-chip memory that live tiles take."""

from __future__ import annotations

import itertools

from allreduce_gen.ir.events import (
    Cast,
    Combine,
    Fill,
    Load,
    Repeat,
    Reshape,
    Store,
    Tile,
    TileOp,
)
from allreduce_gen.ir.expand import expand
from allreduce_gen.ir.liveness import tile_slots, ub_bytes
from allreduce_gen.ir.memory import Buffer, BufferKind, Region, View
from allreduce_gen.planner import make_plan
from allreduce_gen.spec import AllReduceSpec, DType

IDS = itertools.count()
BUFFER = Buffer(name="x", kind=BufferKind.INOUT, nbytes=1 << 20)
VIEW = View(name="x", buffer=BUFFER, shape=(1, 1 << 18), dtype=DType.FP32)


def _tile(length: int, dtype: DType = DType.FP32) -> Tile:
    return Tile(id=next(IDS), shape=(1, length), dtype=dtype, valid=(1, length))


def _at(tile: Tile) -> Region:
    return Region(view=VIEW, offsets=(0, 0), shape=tile.shape)


def _load(tile: Tile) -> Load:
    return Load(tile=tile, region=_at(tile))


def _store(tile: Tile) -> Store:
    return Store(tile=tile, region=_at(tile))


def test_the_bar_kernel() -> None:
    """The staged vector's 16384 bytes serve the sum too; a contribution takes 4096."""
    trace = expand(make_plan(AllReduceSpec(num_ranks=4, size=4096)))
    assert [slot.nbytes for slot in tile_slots(trace.agents[0].events)] == [16384, 4096]
    assert ub_bytes(trace.agents[0].events) == 20480


def test_two_tiles_of_the_largest_chunk() -> None:
    total, other, result = (_tile(23552) for _ in range(3))
    add = Combine(tile=result, op=TileOp.ADD, left=total, right=other)
    events = (_load(total), _load(other), add, _store(result))
    assert ub_bytes(events) == 2 * 23552 * 4


def test_a_small_tile_that_comes_first_shares_with_a_larger_one() -> None:
    small, large = _tile(8), _tile(64)
    events = (_load(small), _store(small), _load(large), _store(large))
    assert ub_bytes(events) == 256


def test_sizes_are_rounded_up() -> None:
    assert ub_bytes((Fill(tile=_tile(1), value=0.0),)) == 32


def test_a_tile_used_in_a_loop_lives_through_it() -> None:
    outer, inner, after = _tile(8), _tile(8), _tile(8)
    body = (_store(outer), _load(inner), _store(inner))
    loop = Repeat(count=4, body=body)
    assert ub_bytes((_load(outer), loop, _load(after), _store(after))) == 64
    assert ub_bytes((_load(outer), *body, _load(after), _store(after))) == 32


def test_a_reshaped_tile_is_the_same_memory() -> None:
    whole, cut, other = _tile(8), _tile(8), _tile(8)
    events = (
        _load(whole),
        Reshape(tile=cut, source=whole),
        _load(other),
        _store(cut),
        _store(other),
    )
    assert ub_bytes(events) == 64


def test_a_widening_cast_is_not_in_place() -> None:
    half, full = _tile(16, DType.FP16), _tile(16)
    events = (_load(half), Cast(tile=full, source=half, mode="rint"), _store(full))
    assert ub_bytes(events) == 32 + 64
    full, half = _tile(16), _tile(16, DType.FP16)
    events = (_load(full), Cast(tile=half, source=full, mode="rint"), _store(half))
    assert ub_bytes(events) == 64
