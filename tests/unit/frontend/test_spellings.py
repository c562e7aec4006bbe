"""Spellings that are seen in the wild: each gives the same trace as the plain one."""

from __future__ import annotations

from pathlib import Path

import pytest

from allreduce_gen.frontend import load_programs, trace_program
from allreduce_gen.ir.compare import compare

LOOP = "pl.range(nranks)"
NOTIFY = "pld.system.notify(signal, peer=peer, offsets=[me, 0], value=1, op=ADD)"
WAIT = "pld.system.wait(signal, offsets=[peer, 0], expected=1, cmp=pld.WaitCmp.Ge)"
STORE = "data = pl.store(own, [0, 0], data)"
LOAD = "own = pl.load(x, [0, 0], [1, SIZE])"
FETCH = "part = pld.tile.remote_load(data, peer=peer, offsets=[0, 0], shape=[1, SIZE])"
DATA_BUF = "data_buf = pld.alloc_window_buffer(SIZE * 4)"
SIGNAL_BUF = "signal_buf = pld.alloc_window_buffer(NUM_RANKS * pl.INT32.get_byte())"
RANK = "me = pld.rank(ctx)"
HOST_LOOP = """\
        for r in pl.range(pld.world_size()):
            data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)
            signal = pld.window(signal_buf, [NUM_RANKS, 1], dtype=pl.INT32)
            self.per_rank(x[r], y[r], data, signal, device=r)
"""
SIGNAL = "signal: pl.InOut[pld.DistributedTensor[[NUM_RANKS, 1], pl.INT32]]"
PLAIN = f"""\
import pypto.language as pl
import pypto.language.distributed as pld

NUM_RANKS = 4
SIZE = 64
ADD = pld.NotifyOp.AtomicAdd


@pl.program
class Example:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
        data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
        {SIGNAL},
    ):
        ctx = pld.get_comm_ctx(data)
        {RANK}
        nranks = pld.nranks(ctx)
        {LOAD}
        {STORE}
        for peer in {LOOP}:
            if peer != me:
                {NOTIFY}
        for peer in {LOOP}:
            if peer != me:
                {WAIT}
        total = pl.load(data, [0, 0], [1, SIZE])
        for peer in {LOOP}:
            if peer != me:
                {FETCH}
                total = pl.add(total, part)
        pl.store(total, [0, 0], y)

    @pl.function(type=pl.FunctionType.Orchestration)
    def per_rank(
        self,
        x: pl.Tensor[[1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
        data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
        {SIGNAL},
    ):
        self.kernel(x, y, data, signal)

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32]],
    ):
        {DATA_BUF}
        {SIGNAL_BUF}
{HOST_LOOP}"""


def trace_of(path: Path, text: str):
    file = path / "kernel.py"
    file.write_text(text)
    (program,) = load_programs(file)
    return trace_program(program)


SPELLINGS = {
    "a buffer by shape": (DATA_BUF, DATA_BUF.replace("SIZE * 4", "[SIZE], dtype=FP32")),
    "bytes of a type": (DATA_BUF, DATA_BUF.replace("4", "pl.FP32.get_byte()")),
    "bytes by world size": (SIGNAL_BUF, SIGNAL_BUF.replace("NUM_RANKS", "WORLD")),
    "notify a target": (NOTIFY, NOTIFY.replace("(signal", "(target=signal")),
    "notify by position": (
        NOTIFY,
        "pld.system.notify(signal, peer, [me, 0], 1, op=ADD)",
    ),
    "wait for a signal": (WAIT, WAIT.replace("(signal", "(signal=signal")),
    "a store dropped": (STORE, "pl.store(own, [0, 0], data)"),
    "a store nested": (f"{LOAD}\n        {STORE}", "pl.store(LOADED, [0, 0], data)"),
    "a peer by position": (FETCH, FETCH.replace("peer=peer", "peer")),
    "windows without InOut": (
        SIGNAL,
        "signal: pld.DistributedTensor[[NUM_RANKS, 1], pl.INT32]",
    ),
    "start, stop and step": (LOOP, "pl.range(0, nranks, 1)"),
    "parallel": (LOOP, "pl.parallel(nranks)"),
    "unroll": (LOOP, "pl.unroll(NUM_RANKS)"),
    "a valid shape": (LOAD, LOAD.replace(")", ", [1, SIZE])")),
    "a smaller of two": (LOAD, LOAD.replace("[0, 0]", "[0, pl.min(0, me)]")),
    "an annotated scalar": (RANK, "me: pl.Scalar[pl.INT32] = pld.rank(ctx)"),
    "a constant loop of ranks": ("pl.range(pld.world_size())", "pl.range(NUM_RANKS)"),
}
WORDS = {
    "dtype=FP32": "dtype=pl.FP32",
    "WORLD": "pld.world_size()",
    "LOADED": "pl.load(x, [0, 0], [1, SIZE])",
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_same_trace(tmp_path: Path, name: str) -> None:
    plain, other = SPELLINGS[name]
    for word, meaning in WORDS.items():
        other = other.replace(word, meaning)
    assert plain in PLAIN
    found = trace_of(tmp_path, PLAIN.replace(plain, other))
    assert compare(trace_of(tmp_path, PLAIN).trace, found.trace) is None


def test_rank_as_an_argument(tmp_path: Path) -> None:
    text = (
        PLAIN.replace(
            f"        {SIGNAL},\n",
            f"        {SIGNAL},\n        me: pl.Scalar[pl.INT32],\n",
        )
        .replace(f"        {RANK}\n", "")
        .replace("data, signal)", "data, signal, me)")
        .replace("data, signal, device=r", "data, signal, r, device=r")
    )
    assert "pld.rank" not in text
    found = trace_of(tmp_path, text).trace
    assert compare(trace_of(tmp_path, PLAIN).trace, found) is None


@pytest.mark.parametrize("shape", ["[NUM_RANKS]", "[NUM_RANKS, 1]", "[3, NUM_RANKS]"])
def test_signals_of_any_shape(tmp_path: Path, shape: str) -> None:
    text = PLAIN.replace("[[NUM_RANKS, 1], pl.INT32]", f"[{shape}, pl.INT32]")
    text = text.replace("[NUM_RANKS, 1], dtype", f"{shape}, dtype")
    text = text.replace("NUM_RANKS * pl.INT32", "3 * NUM_RANKS * pl.INT32")
    if shape == "[NUM_RANKS]":
        text = text.replace("[me, 0]", "[me]").replace("[peer, 0]", "[peer]")
    if shape.startswith("[3"):
        text = text.replace("[me, 0]", "[1, me]").replace("[peer, 0]", "[1, peer]")
    events = trace_of(tmp_path, text).trace.agents[2].events
    assert (
        events[2].slot.offsets
        == {1: (2,), 2: (2, 0), 3: (1, 2)}[
            3 if shape.startswith("[3") else shape.count(",") + 1
        ]
    )


def test_branches_of_the_host(tmp_path: Path) -> None:
    call = "            self.per_rank(x[r], y[r], data, signal, device=r)\n"
    text = PLAIN.replace(
        call,
        f"            if r == 0:\n    {call}            elif r == 1:\n    {call}"
        f"            else:\n    {call}",
    )
    assert (
        compare(trace_of(tmp_path, PLAIN).trace, trace_of(tmp_path, text).trace) is None
    )


def test_a_factory_around_the_class(tmp_path: Path) -> None:
    head, body = PLAIN.split("\n\n\n", 1)
    indented = "".join(f"    {line}\n" if line else "\n" for line in body.splitlines())
    text = (
        f"{head}\n\n\ndef build():\n{indented}    return Example\n\n\nMADE = build()\n"
    )
    assert (
        compare(trace_of(tmp_path, PLAIN).trace, trace_of(tmp_path, text).trace) is None
    )


def test_peers_count_within_the_ranks_that_share_a_window(tmp_path: Path) -> None:
    text = PLAIN.replace("pl.range(pld.world_size())", "pl.range(2, NUM_RANKS)")
    first, _, third, fourth = trace_of(tmp_path, text).trace.agents
    assert first.events == ()
    notify = third.events[2]
    assert (notify.peer, notify.slot.offsets) == (3, (0, 0))
    assert fourth.events[2].peer == 2
