"""pypto's own collectives, as the events that its compiler makes of them."""

from __future__ import annotations

import pytest

from allreduce_gen.checks import Collective, check_trace, recognise
from allreduce_gen.diagnostics import Diagnostic
from allreduce_gen.errors import CompileError
from allreduce_gen.frontend import trace_program
from allreduce_gen.ir.events import Notify, Wait
from allreduce_gen.ir.trace import Trace

HEADER = """\
import pypto.language as pl
import pypto.language.distributed as pld

NR = {ranks}
SIZE = {size}


@pl.program
class Example:
"""
KERNEL = """\
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[{rows}, {cols}], pl.{dtype}],
        y: pl.Out[pl.Tensor[[{out_rows}, SIZE], pl.{dtype}]],
        data: pl.InOut[pld.DistributedTensor[[{data}], pl.{dtype}]],
        signal: pl.InOut[pld.DistributedTensor[[{signal}], pl.INT32]],
    ):
{body}

    @pl.function(type=pl.FunctionType.Orchestration)
    def per_rank(
        self,
        x: pl.Tensor[[{rows}, {cols}], pl.{dtype}],
        y: pl.Out[pl.Tensor[[{out_rows}, SIZE], pl.{dtype}]],
        data: pl.InOut[pld.DistributedTensor[[{data}], pl.{dtype}]],
        signal: pl.InOut[pld.DistributedTensor[[{signal}], pl.INT32]],
    ):
        self.kernel(x, y, data, signal)

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[NR, {rows}, {cols}], pl.{dtype}],
        y: pl.Out[pl.Tensor[[NR, {out_rows}, SIZE], pl.{dtype}]],
    ):
        data_buf = pld.alloc_window_buffer([{data}], dtype=pl.{dtype})
        signal_buf = pld.alloc_window_buffer([{signal}], dtype=pl.INT32)
        for r in pl.range(NR):
            data = pld.window(data_buf, [{data}], dtype=pl.{dtype})
            signal = pld.window(signal_buf, [{signal}], dtype=pl.INT32)
            self.per_rank(x[r], y[r], data, signal, device=r)
"""
STAGE_IN = "data = pl.store(pl.load(x, [0, 0], [1, SIZE]), [0, 0], data)"
STAGE_OUT = "pl.store(pl.load(data, [0, 0], [1, SIZE]), [0, 0], y)"
ROWS_IN = """\
for j in pl.range(NR):
    pl.store(pl.load(x, [j, 0], [1, SIZE]), [j, 0], data)"""
ROWS_OUT = """\
for j in pl.range(NR):
    pl.store(pl.load(data, [j, 0], [1, SIZE]), [j, 0], y)"""
OWN_ROW_OUT = """\
me = pld.rank(pld.get_comm_ctx(data))
pl.store(pl.load(data, [me, 0], [1, SIZE]), [0, 0], y)"""
MESH, RING = "NR, 1", "2 * (NR - 1), NR"


def kernel(*body: str, ranks: int = 4, size: int = 64, **shapes: str) -> str:
    """A program whose kernel does `body`."""
    known = {
        "dtype": "FP32",
        "rows": "1",
        "cols": "SIZE",
        "out_rows": "1",
        "data": "1, SIZE",
        "signal": MESH,
        **shapes,
    }
    lines = "\n".join(body).splitlines()
    text = "".join(f"        {line}\n" for line in lines).rstrip()
    return HEADER.format(ranks=ranks, size=size) + KERNEL.format(body=text, **known)


def all_reduce(arguments: str = "", **options) -> str:
    call = f"data = pld.tensor.allreduce(data, signal, {arguments})"
    return kernel(STAGE_IN, call, STAGE_OUT, **options)


def errors(trace: Trace) -> list[Diagnostic]:
    """What is wrong with `trace`, whatever it computes."""
    found = check_trace(trace, collective=recognise(trace))
    return [one for one in found if one.is_error]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (lambda ranks: all_reduce("op=pld.ReduceOp.Sum", ranks=ranks), "all_reduce"),
        (lambda ranks: all_reduce(ranks=ranks), "all_reduce"),
        (
            lambda ranks: kernel(
                ROWS_IN,
                "data = pld.tensor.reduce_scatter(data, signal)",
                OWN_ROW_OUT,
                ranks=ranks,
                rows="NR",
                data="NR, SIZE",
            ),
            "reduce_scatter",
        ),
        (
            lambda ranks: kernel(
                "data = pld.tensor.allgather(x, data, signal)",
                ROWS_OUT,
                ranks=ranks,
                out_rows="NR",
                data="NR, SIZE",
            ),
            "all_gather",
        ),
        (
            lambda ranks: kernel(
                "data = pld.tensor.all_to_all(x, data, signal)",
                ROWS_OUT,
                ranks=ranks,
                rows="NR",
                out_rows="NR",
                data="NR, SIZE",
            ),
            "all_to_all",
        ),
        (
            lambda ranks: kernel(
                STAGE_IN,
                "data = pld.tensor.broadcast(data, signal, root=0)",
                STAGE_OUT,
                ranks=ranks,
            ),
            "broadcast",
        ),
    ],
)
def test_each_is_sound_and_does_what_it_says(load, text, expected, ranks: int) -> None:
    trace = trace_program(load(text(ranks))).trace
    assert errors(trace) == []
    if ranks > 1:
        assert recognise(trace) is Collective(expected)


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("size", [8, 24, 5000, 9000])
def test_a_ring_takes_any_length(load, ranks: int, size: int) -> None:
    body = [
        "for at in pl.range(0, SIZE, 8):",
        "    pl.store(pl.load(x, [0, at], [1, 8]), [0, at], data)",
        "data = pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Max, mode='ring')",
        "for at in pl.range(0, SIZE, 8):",
        "    pl.store(pl.load(data, [0, at], [1, 8]), [0, at], y)",
    ]
    trace = trace_program(
        load(kernel(*body, ranks=ranks, size=size, signal=RING))
    ).trace
    assert errors(trace) == []
    assert recognise(trace) is Collective.ALL_REDUCE


def test_credits_are_taken_back(load) -> None:
    trace = trace_program(load(all_reduce("op=pld.ReduceOp.Sum"))).trace
    events = trace.agents[1].events
    waits = [one.expected for one in events if isinstance(one, Wait)]
    assert waits == [1, 1, 1, 2, 2, 2]
    taken = [one for one in events if isinstance(one, Notify) and one.peer == 1]
    assert [(one.value, one.slot.offsets) for one in taken] == [
        (-2, (0, 0)),
        (-2, (2, 0)),
        (-2, (3, 0)),
    ]


def test_a_barrier_twice_on_one_signal(load) -> None:
    once = "signal = pld.tensor.barrier(signal)"
    trace = trace_program(load(kernel(once, once))).trace
    waits = [one.expected for one in trace.agents[0].events if isinstance(one, Wait)]
    assert waits == [1] * 6


HOST = """\
    @pl.function(type=pl.FunctionType.InCore)
    def publish(
        self,
        x: pl.Tensor[[1, SIZE], pl.FP32],
        data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
    ) -> pld.DistributedTensor[[1, SIZE], pl.FP32]:
        return pl.store(pl.load(x, [0, 0], [1, SIZE]), [0, 0], data)

    @pl.function(type=pl.FunctionType.Orchestration)
    def publish_on(
        self,
        x: pl.Tensor[[1, SIZE], pl.FP32],
        data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
    ) -> pld.DistributedTensor[[1, SIZE], pl.FP32]:
        return self.publish(x, data)

    @pl.function(type=pl.FunctionType.InCore)
    def consume(
        self,
        data: pld.DistributedTensor[[1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
    ):
        pl.store(pl.load(data, [0, 0], [1, SIZE]), [0, 0], y)

    @pl.function(type=pl.FunctionType.Orchestration)
    def consume_on(
        self,
        data: pld.DistributedTensor[[1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
    ):
        self.consume(data, y)

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[NR, 1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[NR, 1, SIZE], pl.FP32]],
    ):
        data_buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
        signal_buf = pld.alloc_window_buffer([{signal}], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)
            self.publish_on(x[r], data, device=r)
        data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)
        signal = pld.window(signal_buf, [{signal}], dtype=pl.INT32)
        data = {call}
        for r in pl.range(pld.world_size()):
            self.consume_on(data, y[r], device=r)
"""


def host(call: str, signal: str = "NR", ranks: int = 4, size: int = 64) -> str:
    """A program whose host makes `call` between two dispatches."""
    return HEADER.format(ranks=ranks, size=size) + HOST.format(call=call, signal=signal)


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize(
    ("arguments", "signal"),
    [
        ("op=pld.ReduceOp.Sum", "NR"),
        ("op=pld.ReduceOp.Min, core_num=2", "NR, 2"),
        ("mode='ring'", "2 * (NR - 1) + 1, NR"),
    ],
)
def test_host_all_reduce(load, arguments: str, signal: str, ranks: int) -> None:
    call = f"pld.tensor.allreduce(data, signal, {arguments})"
    result = trace_program(load(host(call, signal, ranks, size=1024)))
    assert errors(result.trace) == []
    assert recognise(result.trace) is Collective.ALL_REDUCE
    assert result.parts[::2] == ("publish_on", "consume_on")
    assert result.parts[1].startswith("builtin.tensor.allreduce")


def test_host_broadcast_and_barrier(load) -> None:
    call = "pld.tensor.broadcast(data, signal, root=1)"
    trace = trace_program(load(host(call))).trace
    assert errors(trace) == []
    assert recognise(trace) is Collective.BROADCAST
    silent = host("data\n        signal = pld.tensor.barrier(signal)")
    assert trace_program(load(silent)).parts[1] == "builtin.tensor.barrier__fp32"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (all_reduce("op=pld.ReduceOp.Sum, mode='two_phase'"), "mode must be ring or"),
        (all_reduce("op=pld.ReduceOp.Sum, core_num=2"), "several cores"),
        (all_reduce("op=pld.ReduceOp.Sum", dtype="BF16"), "the target is BF16"),
        (all_reduce("op=pld.ReduceOp.Sum", signal="NR, 2"), "shape [4, 2] for 4"),
        (all_reduce("op=pld.ReduceOp.Sum", signal="NR"), "INT32 of 2 dimensions"),
        (
            all_reduce("op=pld.ReduceOp.Sum, mode='ring'", signal="2, NR"),
            "shape [2, 4] for 4 ranks",
        ),
        (
            kernel(
                "data = pld.tensor.reduce_scatter(data, signal, op=pld.ReduceOp.Max)"
            ),
            "only ReduceOp.Sum",
        ),
        (
            kernel("data = pld.tensor.broadcast(data, signal, root=4)"),
            "root 4 is not one of 4 ranks",
        ),
        (
            kernel("data = pld.tensor.allgather(x, data, signal)"),
            "the target has shape [1, 64] for 4 ranks",
        ),
        (
            kernel("data = pld.tensor.all_to_all_v(x, data, signal, signal, signal)"),
            "read from memory while it runs",
        ),
        (host("pld.tensor.allreduce(data, op=pld.ReduceOp.Sum)"), "no signal is given"),
        (
            host("pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Sum)", ranks=17),
            "17 ranks: pypto's kernel does nothing beyond 16",
        ),
        (
            host("pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Sum, core_num=2)"),
            "the signal has 1 columns for 2 cores",
        ),
    ],
)
def test_refused(load, text: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        trace_program(load(text))
    (found,) = caught.value.diagnostics
    assert found.code.id == "AR703"
    assert message in found.message
