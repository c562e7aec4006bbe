"""Whole runs: right sums under every order, counters, and what cannot run."""

import numpy as np
import pytest

from allreduce_gen.diagnostics import codes
from allreduce_gen.engines.base import Counters, RunOptions, Schedule
from allreduce_gen.engines.elements import is_poison
from allreduce_gen.engines.reference import make_inputs, reference_all_reduce
from allreduce_gen.engines.simulator import simulate
from allreduce_gen.errors import CompileError, ExecutionError
from allreduce_gen.ir.events import Load, Repeat, Store, TileOp, WaitCmp
from allreduce_gen.ir.memory import Buffer, BufferKind, Region, View
from allreduce_gen.ir.trace import Agent, AgentTrace, Trace
from allreduce_gen.spec import DType, ReduceOp


def inputs_of(sketch, dtype=DType.FP32):
    return make_inputs(num_ranks=sketch.num_ranks, size=sketch.size, dtype=dtype)


@pytest.mark.parametrize("schedule", Schedule)
@pytest.mark.parametrize("num_ranks", [1, 2, 3, 4])
def test_two_phase_sums_right_in_every_order(two_phase, num_ranks, schedule):
    sketch = two_phase(num_ranks)
    trace, x = sketch.trace(), inputs_of(sketch)
    expected = reference_all_reduce(x, DType.FP32, ReduceOp.SUM)
    for seed in range(num_ranks):
        y = simulate(trace, {"x": x}, RunOptions(seed=seed, schedule=schedule))
        assert np.array_equal(y.outputs["y"], np.tile(expected, (num_ranks, 1)))


def test_counters_leave_out_what_a_rank_moves_to_itself(two_phase):
    sketch = two_phase(2)
    result = simulate(sketch.trace(), {"x": inputs_of(sketch)})
    per_rank = Counters(events=14, notifies=2, waits=2, remote_bytes=64)
    assert result.counters == (per_rank, per_rank)


def test_one_row_for_both_barriers_goes_wrong_when_a_rank_is_late(two_phase):
    sketch = two_phase(3, second_row=0)
    x = inputs_of(sketch)
    expected = reference_all_reduce(x, DType.FP32, ReduceOp.SUM)
    late = RunOptions(schedule=Schedule.ONE_RANK_LATE)
    y = simulate(sketch.trace(), {"x": x}, late).outputs["y"]
    assert not np.array_equal(y, np.tile(expected, (3, 1)))


def test_a_store_after_its_notify_is_seen_late(sketch):
    program = sketch(2)
    writer, reader = program.ranks
    tile = writer.load("x")
    writer.notify(1)
    writer.store(tile, "data")
    reader.wait(0, 0)
    reader.store(reader.remote_load("data", 0), "y")
    writer.copy("data", "y")
    x = inputs_of(program) + 1
    late = RunOptions(schedule=Schedule.STORES_LATE)
    y = simulate(program.trace(), {"x": x}, late).outputs["y"]
    assert np.array_equal(y[0], x[0])  # the writer sees its own store
    assert not y[1].any()  # the reader sees the window as it was


def test_a_store_held_back_still_lets_a_wait_go_in_the_end(sketch):
    program = sketch(2, slots=(1, 8), dtype=DType.INT32)
    writer, reader = program.ranks
    signal = Region(
        view=View(
            name="signal",
            buffer=program.buffers["signal"],
            shape=(1, 8),
            dtype=DType.INT32,
        ),
        offsets=(0, 0),
        shape=(1, 8),
    )
    tile = reader.fill(8, 5)
    reader.add(Store(tile=tile, region=signal))
    reader.wait(0, 3, 5, WaitCmp.EQ)
    writer.copy("x", "y")
    reader.copy("x", "y")
    x = inputs_of(program, DType.INT32)
    late = RunOptions(schedule=Schedule.STORES_LATE)
    assert np.array_equal(simulate(program.trace(), {"x": x}, late).outputs["y"], x)


def test_what_is_not_written_stays_poison(sketch):
    program = sketch(2)
    program.ranks[0].store(program.ranks[0].load("x", 0, 4), "y")
    program.ranks[1].copy("x", "y")
    y = simulate(program.trace(), {"x": inputs_of(program)}).outputs["y"]
    assert np.isfinite(y[0, :4]).all()
    assert np.isnan(y[0, 4:]).all()
    assert is_poison(y[0, 4:], DType.FP32)


def test_windows_start_as_zero(sketch):
    program = sketch(1)
    program.ranks[0].copy("data", "y")
    assert not simulate(program.trace(), {}).outputs["y"].any()


def test_an_output_that_no_event_names_comes_as_bytes(sketch):
    program = sketch(2)
    y = simulate(program.trace(), {}).outputs["y"]
    assert y.shape == (2, 32)
    assert y.dtype == np.uint8


def test_the_callers_input_is_never_written(sketch):
    program = sketch(1)
    rank = program.ranks[0]
    rank.store(rank.scale(rank.load("x"), TileOp.ADD, 1), "x")
    rank.copy("x", "y")
    x = inputs_of(program)
    kept = x.copy()
    y = simulate(program.trace(), {"x": x}).outputs["y"]
    assert np.array_equal(x, kept)
    assert np.array_equal(y, kept + 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "input x needs 16 elements of fp32, but none was given"),
        (
            {"x": np.zeros((2, 7), np.float32)},
            "input x needs 16 elements of fp32, but 14 elements of float32 were given",
        ),
        (
            {"x": np.zeros((2, 8))},
            "input x needs 16 elements of fp32, but 16 elements of float64 were given",
        ),
    ],
)
def test_inputs_that_do_not_fit_are_refused(sketch, given, message):
    program = sketch(2)
    for rank in program.ranks:
        rank.copy("x", "y")
    with pytest.raises(ExecutionError) as caught:
        simulate(program.trace(), given)
    (finding,) = caught.value.diagnostics
    assert (finding.code, finding.message) == (codes.AR505, message)


def _reversing_loop(count):
    """A loop whose tiles do not lie side by side, so that it is run round by round."""
    buffer = Buffer(name="y", kind=BufferKind.OUTPUT, nbytes=4 * count * 4)
    view = View(name="y", buffer=buffer, shape=(count, 4), dtype=DType.FP32)
    zero = Buffer(name="data", kind=BufferKind.WINDOW, nbytes=16)
    source = View(name="data", buffer=zero, shape=(1, 4), dtype=DType.FP32)
    from_data = Region(view=source, offsets=(0, 0), shape=(1, 4), strides=((0, 0),))
    to_y = Region(view=view, offsets=(count - 1, 0), shape=(1, 4), strides=((-1, 0),))
    return buffer, zero, from_data, to_y


def _loop_trace(sketch, count):
    buffer, zero, from_data, to_y = _reversing_loop(count)
    tile = sketch(1).ranks[0].tile(4)
    body = (Load(tile=tile, region=from_data), Store(tile=tile, region=to_y))
    return Trace(
        num_ranks=1,
        platform="a2a3sim",
        buffers=(buffer, zero),
        agents=(
            AgentTrace(agent=Agent(rank=0), events=(Repeat(count=count, body=body),)),
        ),
    )


def test_a_loop_is_run_round_by_round_where_its_tiles_are_apart(sketch):
    result = simulate(_loop_trace(sketch, 3), {})
    assert result.counters[0].events == 6
    assert not result.outputs["y"].any()


def test_a_loop_too_long_to_run_is_refused(sketch):
    with pytest.raises(CompileError) as caught:
        simulate(_loop_trace(sketch, 600_000), {})
    (finding,) = caught.value.diagnostics
    assert finding.code is codes.AR703
    assert "more than 1000000 events" in finding.message
