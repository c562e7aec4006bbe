"""Whole kernels: the trace is the plan's, and loops say what their rounds do."""

from __future__ import annotations

import dataclasses

import pytest

from allreduce_gen.frontend import loops, trace_program
from allreduce_gen.ir.compare import compare
from allreduce_gen.ir.events import Event, Repeat
from allreduce_gen.ir.expand import expand
from allreduce_gen.ir.trace import AgentTrace, Trace
from allreduce_gen.planner import plan_two_phase
from allreduce_gen.spec import AllReduceSpec

BARRIER = """\
        for step in pl.range(1, NUM_RANKS):
            peer = (my_rank + step) % NUM_RANKS
            pld.system.notify(
                signal,
                peer=peer,
                offsets=[{row}, my_rank],
                value=1,
                op=pld.NotifyOp.AtomicAdd,
            )
        for step in pl.range(1, NUM_RANKS):
            peer = (my_rank + step) % NUM_RANKS
            pld.system.wait(
                signal, offsets=[{row}, peer], expected=1, cmp=pld.WaitCmp.Ge
            )
"""
PARAMETERS = """\
        self,
        x: pl.Tensor[[1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
        data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
        result: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[2, NUM_RANKS], pl.INT32]],
    ) -> pl.Tensor[[1, SIZE], pl.FP32]:
"""
TWO_PHASE = f"""\
import pypto.language as pl
import pypto.language.distributed as pld

NUM_RANKS = 4
SIZE = 4096
CHUNK = SIZE // NUM_RANKS


@pl.program
class AllReduce:
    @pl.function(type=pl.FunctionType.InCore)
    def all_reduce(
{PARAMETERS}\
        ctx = pld.get_comm_ctx(data)
        my_rank = pld.rank(ctx)
        my_chunk = my_rank * CHUNK
        staged = pl.load(x, [0, 0], [1, SIZE])
        data = pl.store(staged, [0, 0], data)
{BARRIER.format(row=0)}\
        acc = pl.load(data, [0, my_chunk], [1, CHUNK])
        for step in pl.range(1, NUM_RANKS):
            peer = (my_rank + step) % NUM_RANKS
            contribution = pld.tile.remote_load(
                data, peer=peer, offsets=[0, my_chunk], shape=[1, CHUNK]
            )
            acc = pl.add(acc, contribution)
        result = pl.store(acc, [0, my_chunk], result)
{BARRIER.format(row=1)}\
        for step in pl.range(NUM_RANKS):
            owner = (my_rank + step) % NUM_RANKS
            reduced = pld.tile.remote_load(
                result, peer=owner, offsets=[0, owner * CHUNK], shape=[1, CHUNK]
            )
            y = pl.store(reduced, [0, owner * CHUNK], y)
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def per_rank(
{PARAMETERS}\
        return self.all_reduce(x, y, data, result, signal)

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32]],
    ) -> pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32]:
        data_buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
        result_buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
        signal_buf = pld.alloc_window_buffer([2, NUM_RANKS], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)
            result = pld.window(result_buf, [1, SIZE], dtype=pl.FP32)
            signal = pld.window(signal_buf, [2, NUM_RANKS], dtype=pl.INT32)
            self.per_rank(x[r], y[r], data, result, signal, device=r)
        return y
"""


@pytest.mark.parametrize(
    ("ranks", "size"), [(2, 64), (4, 64), (4, 4096), (8, 1024), (3, 4104)]
)
def test_two_phase_is_its_plan(load, ranks: int, size: int) -> None:
    text = TWO_PHASE.replace("NUM_RANKS = 4", f"NUM_RANKS = {ranks}")
    result = trace_program(load(text.replace("SIZE = 4096", f"SIZE = {size}")))
    plan = plan_two_phase(AllReduceSpec(num_ranks=ranks, size=size))
    assert compare(expand(plan), result.trace) is None
    assert result.diagnostics == ()


def test_other_row_is_another_trace(load) -> None:
    text = TWO_PHASE.replace("offsets=[1, peer]", "offsets=[0, peer]")
    plan = plan_two_phase(AllReduceSpec(num_ranks=4, size=4096))
    found = compare(expand(plan), trace_program(load(text)).trace)
    assert found is not None
    assert found.left.startswith("wait signal[1, 1]")
    assert found.right.startswith("wait signal[0, 1]")


TILED = [
    """\
    for c in pl.range(3):
        for i in pl.range(5):
            at = c * 20 + i * 4
            tile = pl.load(x, [0, at], [1, 4])
            for k in pl.range(nranks):
                other = pld.tile.remote_load(data, k, [0, at], [1, 4])
                tile = pl.add(tile, other)
            y = pl.store(tile, [0, at], y)
    """,
    """\
    for c in pl.range(6):
        for i in pl.range(9):
            at = c * 9 + i
            if at >= 13 + me:
                if at != 40:
                    tile = pl.load(x, [0, pl.min(at, 50)], [1, 8])
                    y = pl.store(tile, [0, pl.max(at, 20)], y)
    """,
    """\
    total = me * 0 + 0
    for i in pl.range(7):
        tile = pl.load(x, [0, total], [1, 8])
        if i == 4:
            total = total + 8
        y = pl.store(tile, [0, i * 8], y)
    """,
    """\
    for i in pl.range(2, 11, 3):
        for j in pl.range(i):
            tile = pl.load(x, [0, j], [1, 8], valid_shape=[1, pl.min(j + 1, 4)])
            y = pl.store(tile, [0, (i * j) // 2], y)
    """,
]


@pytest.mark.parametrize("body", TILED)
def test_loops_say_what_their_rounds_do(trace, monkeypatch, body: str) -> None:
    folded = trace(body).trace
    monkeypatch.setattr(loops, "_run_rounds", one_by_one)
    assert compare(unrolled(folded), trace(body).trace) is None


def one_by_one(loop, frame, recorder, start, step, count) -> None:
    del recorder
    loops._unroll(loop, frame, start, step, count)


def unrolled(trace: Trace) -> Trace:
    """The trace with every Repeat written out, and a new tile in every round."""
    agents = tuple(
        AgentTrace(agent=one.agent, events=_fresh_tiles(_rounds(one.events)))
        for one in trace.agents
    )
    return dataclasses.replace(trace, agents=agents)


def _rounds(events: tuple[Event, ...]) -> list[Event]:
    plain: list[Event] = []
    for event in events:
        if not isinstance(event, Repeat):
            plain.append(event)
            continue
        for index in range(event.count):
            plain += _rounds(tuple(_moved(one, index) for one in event.body))
    return plain


def _moved(event: Event, index: int) -> Event:
    """`event` in round `index` of the outermost Repeat around it."""
    if isinstance(event, Repeat):
        body = tuple(_moved(one, index) for one in event.body)
        return dataclasses.replace(event, body=body)
    region = getattr(event, "region", None)
    if region is None:
        return event
    first, *rest = region.strides
    offsets = tuple(
        at + index * step for at, step in zip(region.offsets, first, strict=True)
    )
    moved = dataclasses.replace(region, offsets=offsets, strides=tuple(rest))
    return dataclasses.replace(event, region=moved)


def _fresh_tiles(events: list[Event]) -> tuple[Event, ...]:
    names: dict[int, int] = {}
    fresh: list[Event] = []
    for event in events:
        used = {
            part: dataclasses.replace(tile, id=names[tile.id])
            for part in ("left", "right", "source", "tile")
            if (tile := getattr(event, part, None)) is not None and tile.id in names
        }
        made = getattr(event, "tile", None)
        if made is not None and type(event).__name__ not in ("Store", "RemoteStore"):
            names[made.id] = len(fresh)
            used["tile"] = dataclasses.replace(made, id=len(fresh))
        fresh.append(dataclasses.replace(event, **used))
    return tuple(fresh)
