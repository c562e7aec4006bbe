"""Runs on memory that the caller lends, call after call."""

from __future__ import annotations

import numpy as np

from allreduce_gen.engines.simulator import make_windows, simulate_in_place
from allreduce_gen.ir.events import Fill, Load, Notify, NotifyOp, Read, Tile, Write
from allreduce_gen.ir.memory import Buffer, BufferKind, Region, View
from allreduce_gen.ir.trace import Agent, AgentTrace, Trace
from allreduce_gen.spec import DType

OUT = Buffer(name="y", kind=BufferKind.OUTPUT, nbytes=8)
SLOTS = Buffer(name="signal", kind=BufferKind.WINDOW, nbytes=8)


def cell(buffer: Buffer, at: int) -> Region:
    view = View(name=buffer.name, buffer=buffer, shape=(2,), dtype=DType.INT32)
    return Region(view=view, offsets=(at,), shape=(1,))


def scalar(number: int) -> Tile:
    return Tile(id=number, shape=(), dtype=DType.INT32, valid=())


def trace(*events) -> Trace:
    agent = AgentTrace(agent=Agent(rank=0), events=events)
    return Trace(num_ranks=1, platform="a5", buffers=(OUT, SLOTS), agents=(agent,))


COUNT = trace(
    Notify(peer=0, slot=cell(SLOTS, 1), value=3, op=NotifyOp.ATOMIC_ADD),
    Read(tile=scalar(0), region=cell(SLOTS, 1)),
    Write(tile=scalar(0), region=cell(OUT, 0)),
)


def test_what_is_not_written_stays() -> None:
    memory = np.array([7, 8], dtype=np.int32)
    simulate_in_place(COUNT, {"y": memory.view(np.uint8)}, make_windows(COUNT))
    assert memory.tolist() == [3, 8]


def test_windows_keep_what_the_last_call_left() -> None:
    memory, windows = np.zeros(2, dtype=np.int32), make_windows(COUNT)
    for call in (1, 2, 3):
        simulate_in_place(COUNT, {"y": memory.view(np.uint8)}, windows)
        assert memory[0] == 3 * call


def test_scalars_are_written_as_they_are() -> None:
    memory = np.zeros(2, dtype=np.int32)
    written = trace(
        Fill(tile=scalar(0), value=5.0), Write(tile=scalar(0), region=cell(OUT, 1))
    )
    simulate_in_place(written, {"y": memory.view(np.uint8)}, make_windows(written))
    assert memory.tolist() == [0, 5]


def test_a_read_is_a_load_to_whoever_asks() -> None:
    assert isinstance(COUNT.agents[0].events[1], Load)
