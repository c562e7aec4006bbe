"""Tiles, cut tiles, atomics and every element type, through memory and back."""

import numpy as np
import pytest

from allreduce_gen.engines.base import RunOptions, Schedule
from allreduce_gen.engines.elements import decode, memory_dtype
from allreduce_gen.engines.reference import make_inputs
from allreduce_gen.engines.simulator import simulate
from allreduce_gen.ir.events import Combine, Load, Store, Tile, TileOp
from allreduce_gen.ir.memory import Region, View
from allreduce_gen.spec import DType


@pytest.mark.parametrize("dtype", [one for one in DType if one is not DType.BOOL])
def test_every_type_comes_back_as_it_went(sketch, dtype):
    program = sketch(2, dtype=dtype)
    for rank in program.ranks:
        rank.copy("x", "data")
        rank.copy("data", "y")
    x = make_inputs(num_ranks=2, size=8, dtype=dtype)
    y = simulate(program.trace(), {"x": x}).outputs["y"]
    assert y.dtype == x.dtype
    assert np.array_equal(x, y)


def test_bf16_may_be_given_as_bits(sketch):
    program = sketch(1, dtype=DType.BF16)
    program.ranks[0].copy("x", "y")
    bits = np.arange(0x3F80, 0x3F88, dtype=memory_dtype(DType.BF16))
    y = simulate(program.trace(), {"x": bits}).outputs["y"]
    assert np.array_equal(y[0], decode(bits, DType.BF16))
    assert y[0, 0] == 1.0


def test_a_cut_tile_loads_and_stores_its_valid_part(sketch):
    program = sketch(1)
    rank = program.ranks[0]
    tile = rank.tile(8, valid=3)
    rank.add(Load(tile=tile, region=rank.region("x", 0, 3)))
    rank.store(tile, "y", 5)
    rank.store(rank.reshape(tile, valid=5), "y", 0)
    x = make_inputs(num_ranks=1, size=8, dtype=DType.FP32)
    (y,) = simulate(program.trace(), {"x": x}).outputs["y"]
    assert np.array_equal(y[5:], x[0, :3])
    assert np.array_equal(y[:3], x[0, :3])
    assert np.isnan(y[3:5]).all()  # beyond the valid part nothing was loaded


def test_a_tile_that_is_made_and_not_written_is_poison(sketch):
    program = sketch(1)
    rank = program.ranks[0]
    rank.store(rank.fill(4, None), "y", 0)
    rank.store(rank.scale(rank.fill(4, 3), TileOp.MUL, 0.5), "y", 4)
    (y,) = simulate(program.trace(), {}).outputs["y"]
    assert np.isnan(y[:4]).all()
    assert y[4:].tolist() == [1.5] * 4


def test_a_cast_between_types(sketch):
    program = sketch(1)
    rank = program.ranks[0]
    rank.store(
        rank.cast(rank.cast(rank.load("x"), DType.BF16, "rint"), DType.FP32, "rint"),
        "y",
    )
    x = np.array([[257, 1, 2, 3, 259, 5, 6, 7]], dtype=np.float32)
    (y,) = simulate(program.trace(), {"x": x}).outputs["y"]
    assert y.tolist() == [256, 1, 2, 3, 260, 5, 6, 7]


@pytest.mark.parametrize("schedule", Schedule)
def test_atomic_stores_of_all_ranks_add_up(sketch, schedule):
    program = sketch(3, dtype=DType.FP16)
    for rank in program.ranks:
        tile = rank.load("x")
        rank.store(tile, "data", atomic=True)
        for peer in rank.peers():
            rank.remote_store(tile, "data", peer, atomic=True)
        rank.barrier(0)
        rank.copy("data", "y")
    x = make_inputs(num_ranks=3, size=8, dtype=DType.FP16)
    options = RunOptions(schedule=schedule, seed=2)
    y = simulate(program.trace(), {"x": x}, options).outputs["y"]
    assert np.array_equal(y, np.tile(x.sum(axis=0), (3, 1)))


def test_boxes_of_views_with_other_shapes_alias(sketch):
    program = sketch(1)
    rank = program.ranks[0]
    rank.copy("x", "data")
    view = View(
        name="pairs",
        buffer=program.buffers["data"],
        shape=(2, 3),
        dtype=DType.FP32,
        start=8,
    )
    box = Region(view=view, offsets=(0, 1), shape=(2, 2))
    tile, doubled = (
        Tile(id=id, shape=(2, 2), dtype=DType.FP32, valid=(2, 2)) for id in (98, 99)
    )
    rank.add(Load(tile=tile, region=box))
    rank.add(Combine(tile=doubled, op=TileOp.ADD, left=tile, right=tile))
    rank.add(Store(tile=doubled, region=box))
    rank.copy("data", "y")
    x = np.arange(8, dtype=np.float32).reshape(1, 8)
    (y,) = simulate(program.trace(), {"x": x}).outputs["y"]
    assert y.tolist() == [0, 1, 2, 6, 8, 5, 12, 14]
