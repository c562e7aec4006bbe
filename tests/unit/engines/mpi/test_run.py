"""Runs over MPI: the same results and counters as the simulator's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from allreduce_gen.engines.base import EngineName, RunOptions
from allreduce_gen.engines.mpi import run_mpi
from allreduce_gen.engines.reference import make_inputs
from allreduce_gen.engines.simulator import simulate
from allreduce_gen.ir.events import NotifyOp, WaitCmp
from allreduce_gen.spec import DType
from allreduce_gen.verdicts import run_file

KERNELS = Path(__file__).parents[3] / "golden" / "kernels"

pytestmark = pytest.mark.usefixtures("leaves_nothing")


def assert_same(trace, inputs) -> None:
    wanted, got = simulate(trace, inputs), run_mpi(trace, inputs)
    assert got.counters == wanted.counters
    assert got.outputs.keys() == wanted.outputs.keys()
    for name, output in wanted.outputs.items():
        assert np.array_equal(got.outputs[name], output, equal_nan=True)


@pytest.mark.parametrize("num_ranks", [1, 2, 3, 4, 8])
def test_two_phase_gives_what_the_simulator_gives(two_phase, num_ranks: int) -> None:
    x = make_inputs(num_ranks=num_ranks, size=8 * num_ranks, dtype=DType.FP32)
    assert_same(two_phase(num_ranks).trace(), {"x": x})


@pytest.mark.parametrize(
    "name", ["two_phase_p4_n4096_fp32", "two_phase_p4_n1_fp16", "two_phase_p4_n18_fp32"]
)
def test_golden_is_right_on_every_rank(name: str) -> None:
    (report,) = run_file(
        KERNELS / f"{name}.py", RunOptions(timeout=120), engine=EngineName.MPI
    )
    assert report.num_ranks == 4


@pytest.mark.parametrize("dtype", [DType.FP32, DType.FP16, DType.BF16, DType.INT16])
def test_atomic_stores_of_all_ranks_add_up(sketch, dtype: DType) -> None:
    program = sketch(3, dtype=dtype)
    for rank in program.ranks:
        tile = rank.load("x")
        for peer in range(3):
            rank.remote_store(tile, "data", peer, atomic=True)
        rank.barrier(0)
        rank.copy("data", "y")
    x = make_inputs(num_ranks=3, size=8, dtype=dtype)
    assert_same(program.trace(), {"x": x})


def test_a_region_with_gaps_goes_there_and_back(sketch) -> None:
    """Rows of a window are not side by side where only some columns are moved."""
    from allreduce_gen.ir.events import Load, RemoteLoad, RemoteStore, Store, Tile
    from allreduce_gen.ir.memory import Region, View

    program = sketch(2, size=16)

    def box(name: str, rank: int, column: int) -> Region:
        buffer = program.buffers[name]
        start = 0 if buffer.is_window else 64 * rank
        view = View(
            name=name, buffer=buffer, shape=(4, 4), dtype=DType.FP32, start=start
        )
        return Region(view=view, offsets=(0, column), shape=(4, 2))

    for rank in program.ranks:
        me, peer = rank.rank, 1 - rank.rank
        first, second = (
            Tile(id=one, shape=(4, 2), dtype=DType.FP32, valid=(4, 2))
            for one in range(2)
        )
        rank.add(Load(tile=first, region=box("x", me, 1)))
        rank.add(RemoteStore(tile=first, peer=peer, region=box("data", me, 2)))
        rank.barrier(0)
        rank.add(RemoteLoad(tile=second, peer=peer, region=box("data", me, 2)))
        rank.add(Store(tile=second, region=box("y", me, 0)))
    x = make_inputs(num_ranks=2, size=16, dtype=DType.FP32)
    assert_same(program.trace(), {"x": x})


def test_set_and_equal_and_a_notify_of_oneself(sketch) -> None:
    program = sketch(2)
    for rank in program.ranks:
        rank.copy("x", "data")
        rank.notify(rank.rank, 1, value=7, op=NotifyOp.SET)
        rank.wait(1, rank.rank, 7, WaitCmp.EQ)
        rank.notify(rank.rank, 1, value=-7)
        rank.wait(1, rank.rank, 0, WaitCmp.EQ)
        rank.barrier(0)
        rank.store(rank.remote_load("data", 1 - rank.rank), "y")
    x = make_inputs(num_ranks=2, size=8, dtype=DType.FP32)
    assert_same(program.trace(), {"x": x})
