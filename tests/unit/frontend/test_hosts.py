"""Host orchestrators: ranks, buffers, dispatches, blocks, program forms."""

from __future__ import annotations

import pytest

from allreduce_gen.errors import CompileError
from allreduce_gen.frontend import trace_program
from allreduce_gen.ir.events import event_kind
from allreduce_gen.ir.memory import BufferKind

COPY = """\
import pypto.language as pl
import pypto.language.distributed as pld

NR = pl.dynamic("NR")
NUM_RANKS = 3
SIZE = 32


@pl.program
class Copy:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        source: pl.Tensor[[1, SIZE], pl.FP32],
        data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
        at: pl.Scalar[pl.INT32],
    ) -> pld.DistributedTensor[[1, SIZE], pl.FP32]:
        tile = pl.load(source, [0, at], [1, 8])
        data = pl.store(tile, [0, 0], data)
        return data

    @pl.function(type=pl.FunctionType.Orchestration)
    def per_rank(
        self,
        source: pl.Tensor[[1, SIZE], pl.FP32],
        data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
        at: pl.Scalar[pl.INT32],
    ):
        self.kernel(source, data, at)

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32],
        y: pl.InOut[pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32]],
        shift: pl.Scalar[pl.INT32],
    ):
        data_buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
        for r in pl.range(pld.world_size()):
            data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)
            self.per_rank(x[r], data, shift, device=r)
"""
LOOP = COPY[COPY.index("        for r in") :]


def with_loop(loop: str) -> str:
    """COPY with another body of its host."""
    lines = "".join(f"        {line}\n" for line in loop.splitlines())
    return COPY.replace(LOOP, lines)


def refused(load, text: str, **options):
    with pytest.raises(CompileError) as caught:
        trace_program(load(text), **{"scalars": {"shift": 0}, **options})
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code.id == "AR703"
    return diagnostic


def test_buffers_and_ranks(load) -> None:
    program = load(COPY)
    assert program.scalars == ("shift",)
    trace = trace_program(program, platform="a5", scalars={"shift": 8}).trace
    assert (trace.num_ranks, trace.platform) == (3, "a5")
    assert [(one.name, one.kind, one.nbytes) for one in trace.buffers] == [
        ("x", BufferKind.INPUT, 3 * 128),
        ("y", BufferKind.INOUT, 3 * 128),
        ("data", BufferKind.WINDOW, 128),
    ]
    assert [(one.agent.rank, one.agent.block) for one in trace.agents] == [
        (0, 0),
        (1, 0),
        (2, 0),
    ]
    load_event = trace.agents[2].events[0]
    assert load_event.region.offsets == (0, 8)
    assert load_event.region.view.name == "source"
    assert load_event.region.view.buffer.name == "x"
    assert load_event.region.view.start == 2 * 128


def test_scalar_without_a_value(load) -> None:
    found = refused(load, COPY, scalars={})
    assert "host takes the scalar shift, which has no value" in found.message


def test_other_number_of_ranks(load) -> None:
    assert "x has 3 entries for 4 ranks" in refused(load, COPY, num_ranks=4).message


def test_dynamic_number_of_ranks(load) -> None:
    text = COPY.replace("[NUM_RANKS, 1", "[NR, 1")
    trace = trace_program(load(text), num_ranks=5, scalars={"shift": 0}).trace
    assert len(trace.agents) == 5
    assert trace.buffers[0].nbytes == 5 * 128
    assert "do not say how many ranks" in refused(load, text).message


def test_two_dispatches_share_windows(load) -> None:
    text = with_loop("""\
for r in pl.range(pld.world_size()):
    data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)
    self.per_rank(x[r], data, 0, device=r)
for r in pl.range(pld.world_size()):
    again = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)
    self.per_rank(x[r], again, shift, device=r)""")
    trace = trace_program(load(text), scalars={"shift": 16}).trace
    assert [one.name for one in trace.buffers] == ["x", "y", "data"]
    loads = trace.agents[0].events[::2]
    assert [one.region.offsets[1] for one in loads] == [0, 16]


def test_two_buffers_under_one_window_name_keep_their_own(load) -> None:
    text = with_loop("""\
other_buf = pld.alloc_window_buffer(SIZE * pl.FP32.get_byte())
for r in pl.range(pld.world_size()):
    data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)
    self.per_rank(x[r], data, 0, device=r)
    data = pld.window(buf=other_buf, shape=[1, SIZE], dtype=pl.FP32)
    self.per_rank(x[r], data, 0, device=r)""")
    trace = trace_program(load(text), scalars={"shift": 0}).trace
    assert [one.name for one in trace.buffers[2:]] == ["data_buf", "other_buf"]
    assert trace.buffers[3].nbytes == 128


def test_ranks_with_other_work(load) -> None:
    text = with_loop("""\
for r in pl.range(pld.world_size()):
    data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)
    if r == 1:
        self.per_rank(x[r], data, 8, device=r)
    elif r == 2:
        self.per_rank(x[r], data, 16, device=r)""")
    trace = trace_program(load(text), scalars={"shift": 0}).trace
    assert [len(one.events) for one in trace.agents] == [0, 2, 2]
    assert trace.agents[2].events[0].region.offsets == (0, 16)


@pytest.mark.parametrize(
    ("loop", "message"),
    [
        ("pass", "no window is made of the buffer data_buf"),
        (
            "data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)",
            "host dispatches no kernel",
        ),
        (
            "data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)\n"
            "for r in pl.range(3):\n    self.per_rank(x[r], data, 0, device=r)",
            "and the next round reads it again",
        ),
        (
            "data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)\n"
            "self.per_rank(x[0], data, 0, device=0)\n"
            "self.per_rank(x[1], data, 0, device=1)",
            "data was passed as Out or InOut in line",
        ),
        (
            "data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)\n"
            "self.per_rank(x[0], data, 0)",
            "called with keywords (none)",
        ),
        (
            "data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)\n"
            "self.kernel(x[0], data, 0, device=0)",
            "HOST Orchestrator function host calls InCore function kernel",
        ),
        (
            "data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)\n"
            "self.per_rank(x[0], data, 0, device=7)",
            "device 7 is not one of 3 ranks",
        ),
        (
            "data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)\n"
            "n = pld.world_size()\nself.per_rank(x[0], data, 0, device=n - 1)",
            "neither a constant integer nor a loop variable",
        ),
        (
            "data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)\n"
            "self.per_rank(x[0], data, 0, device=1.0)",
            "neither a constant integer nor a loop variable",
        ),
        (
            "ranks, other = 3, 1\n"
            "data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)\n"
            "self.per_rank(x[0], data, 0, device=0)",
            "assigns a list or tuple",
        ),
        (
            "data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)\n"
            "self.per_rank(x[3], data, 0, device=0)",
            "takes entry 3 of 3",
        ),
        (
            "data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)\n"
            "self.per_rank(x[0], data, device=0)",
            "per_rank takes 3 arguments, got 2",
        ),
        (
            "data = pld.window(data_buf, [1, SIZE], dtype=pl.FP16)\n"
            "self.per_rank(x[0], data, 0, device=0)",
            "per_rank takes data as",
        ),
        (
            "data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)\n"
            "self.per_rank(x[0], y[0], 0, device=0)",
            "per_rank takes data as",
        ),
        (
            "data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)\n"
            "self.missing(x[0], data, 0, device=0)",
            "`self.missing` is not defined before host",
        ),
        (
            "data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)\n"
            "tile = pl.load(x, [0, 0, 0], [1, 1, 8])",
            "not in a function of this kind",
        ),
        (
            "data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)\n"
            "data_buf = pld.alloc_window_buffer(4)",
            "declared twice",
        ),
        (
            "data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)\n"
            "for r in pl.range(1 << 30):\n    pass",
            "more than 1000000 events or rounds",
        ),
        (
            "data = pld.window(data_buf, [1, NR], dtype=pl.FP32)",
            "no tensor that is passed here has the dimension NR",
        ),
        (
            "data = pld.window(data_buf, [1, SIZE], dtype=pl.HF8)",
            "no windows of `pl.HF8`",
        ),
    ],
)
def test_host_refused(load, loop: str, message: str) -> None:
    assert message in refused(load, with_loop(loop)).message


def test_buffer_that_no_kernel_gets(load) -> None:
    text = COPY.replace(
        LOOP,
        "        idle_buf = pld.alloc_window_buffer(4)\n"
        + LOOP
        + "            idle = pld.window(idle_buf, [1, 1], dtype=pl.FP32)\n",
    )
    assert (
        "the window buffer idle is passed to no kernel" in refused(load, text).message
    )


def test_declared_result_without_a_return(load) -> None:
    found = refused(load, COPY.replace("        return data\n", ""))
    assert "kernel declares a result, and no return" in found.message


def test_an_orchestration_takes_tensors_apart(load) -> None:
    text = COPY.replace(
        "        self.kernel(source, data, at)",
        "        first, other = source, source\n        self.kernel(other, data, at)",
    )
    trace = trace_program(load(text), scalars={"shift": 8}).trace
    assert trace.agents[1].events[0].region.view.buffer.name == "x"


def test_callee_behind_its_caller(load) -> None:
    text = COPY.replace("self.kernel(source, data, at)", "self.host(source)")
    assert "`self.host` is not defined before per_rank" in refused(load, text).message


def test_reshaped_tensor_is_the_same_memory(load) -> None:
    text = COPY.replace(
        "self.kernel(source, data, at)",
        "flat = pl.reshape(source, [2, SIZE // 2])\n"
        "        self.kernel(flat, data, at)",
    ).replace("source: pl.Tensor[[1, SIZE]", "source: pl.Tensor[[2, SIZE // 2]", 1)
    trace = trace_program(load(text), scalars={"shift": 8}).trace
    view = trace.agents[1].events[0].region.view
    assert (view.shape, view.start, view.buffer.name) == ((2, 16), 128, "x")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("pl.reshape(source, [2, SIZE])", "does not have as many elements as [2, 32]"),
        ("pl.reshape(data, [2, 16])", "and no windows"),
    ],
)
def test_reshape_refused(load, call: str, message: str) -> None:
    body = "self.kernel(source, data, at)"
    text = COPY.replace(body, f"flat = {call}\n        {body}")
    assert message in refused(load, text).message


SPMD = COPY.replace(
    "        self.kernel(source, data, at)",
    "        with pl.spmd({blocks}):\n            self.kernel(source, data, at)",
).replace("[0, at]", "[0, at + pl.tile.get_block_idx() * 8]")


def test_blocks_are_agents(load) -> None:
    text = SPMD.format(blocks="4, sync_start=True")
    trace = trace_program(load(text), scalars={"shift": 0}).trace
    assert len(trace.agents) == 12
    assert trace.agents[7].agent.rank == 1
    assert trace.agents[7].agent.block == 3
    assert trace.agents[7].events[0].region.offsets == (0, 24)


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ("", "takes one number of blocks"),
        ("2, color=3", "takes one number of blocks"),
        ("2.5", "takes an integer"),
    ],
)
def test_spmd_refused(load, blocks: str, message: str) -> None:
    assert message in refused(load, SPMD.format(blocks=blocks)).message


def test_several_kernels_on_several_blocks(load) -> None:
    launch = "            self.kernel(source, data, at)"
    text = SPMD.format(blocks=2).replace(
        launch,
        f"{launch.replace('self', 'data = self')}\n{launch}",
    )
    trace = trace_program(load(text), scalars={"shift": 0}).trace
    first, second = (one.events for one in trace.agents[:2])
    kinds = ["load", "store", "notify", "wait", "load", "store"]
    assert [event_kind(event) for event in first] == kinds
    assert [event_kind(event) for event in second] == kinds
    assert (first[2].peer, first[3].expected) == (0, 2)
    assert first[2].slot.view.name == second[3].slot.view.name == "launch_1"


def test_inline_function_runs_in_place(load) -> None:
    inline = """\
    @pl.function(type=pl.FunctionType.Inline)
    def copy(
        self,
        source: pl.Tensor[[1, SIZE], pl.FP32],
        data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
        at: pl.Scalar[pl.INT32],
    ):
        tile = pl.load(source, [0, at], [1, 8])
        data = pl.store(tile, [0, 8], data)
        return data

"""
    first = "    @pl.function(type=pl.FunctionType.InCore)"
    text = COPY.replace(first, inline + first, 1).replace(
        "        return data\n\n    @pl.function(type=pl.FunctionType.Orch",
        "        data = self.copy(source, data, at)\n        return data\n\n"
        "    @pl.function(type=pl.FunctionType.Orch",
    )
    trace = trace_program(load(text), scalars={"shift": 0}).trace
    stores = trace.agents[0].events[1::2]
    assert [one.region.offsets[1] for one in stores] == [0, 8]


JIT = """\
import pypto.language as pl
import pypto.language.distributed as pld

NUM_RANKS = 3
SIZE = 32


@pl.jit.incore
def kernel(
    source: pl.Tensor[[1, SIZE], pl.FP32],
    data: pld.DistributedTensor[[1, SIZE], pl.FP32],
):
    tile = pl.load(source, [0, 0], [1, OFFSET])
    pl.store(tile, [0, 0], data)


@pl.jit
def per_rank(
    source: pl.Tensor[[1, SIZE], pl.FP32],
    data: pld.DistributedTensor[[1, SIZE], pl.FP32],
):
    kernel(source, data)


@pl.jit.host
def host(x: pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32]):
    data_buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
    for r in pl.range(pld.world_size()):
        data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)
        per_rank(x[r], data, device=r)


OFFSET = 8  # jit functions are read when they are used
"""


def test_jit_form(load) -> None:
    program = load(JIT)
    assert program.name == "host"
    trace = trace_program(program).trace
    assert [one.name for one in trace.buffers] == ["x", "data"]
    assert [len(one.events) for one in trace.agents] == [2, 2, 2]


@pytest.mark.parametrize("shape", [(1, 16), (32, 1), (4, 8)])
def test_jit_functions_take_shapes_from_their_callers(load, shape) -> None:
    """Whatever they declare: pypto makes one function for each shape that is passed."""
    window = "data = pld.window(data_buf, [1, SIZE]"
    assert window in JIT
    text = JIT.replace(window, f"data = pld.window(data_buf, {list(shape)}")
    store = trace_program(load(text)).trace.agents[0].events[1]
    assert store.region.view.shape == shape


def test_program_without_a_host(load) -> None:
    found = refused(load, COPY[: COPY.index("    @pl.function(level")])
    assert "program Copy has 0 HOST orchestrators" in found.message


def test_a_tensor_of_which_the_callee_reaches_a_part(load) -> None:
    text = COPY.replace(
        "x: pl.Tensor[[NUM_RANKS, 1, SIZE]", "x: pl.Tensor[[NUM_RANKS, 1, 2 * SIZE]"
    )
    assert refused(load, text).message == (
        "per_rank takes source as pl.Tensor[[1, 32], pl.FP32], got `x[r]` of "
        "pl.Tensor[[1, 64], pl.FP32]"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x: pl.Tensor[[NUM_RANKS, 1, SIZE]", "x: pl.Tensor[[NUM_RANKS, SIZE, 1]"),
        ("data = pld.window(data_buf, [1, SIZE]", "data = pld.window(data_buf, [4, 8]"),
        ("alloc_window_buffer([1, SIZE]", "alloc_window_buffer([2, SIZE]"),
    ],
)
def test_another_shape_of_the_same_elements(load, before: str, after: str) -> None:
    assert before in COPY
    trace = trace_program(load(COPY.replace(before, after)), scalars={"shift": 0}).trace
    assert trace.agents[0].events[0].region.view.shape == (1, 32)


NOTIFY_ALL = """\
        for step in pl.range(1, NUM_RANKS):
            peer = (pld.rank(pld.get_comm_ctx(data)) + step) % NUM_RANKS
            pld.system.notify(data, peer, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)
"""


@pytest.mark.parametrize(
    ("ranks", "peer", "group"),
    [("2", 2, "2 of 3 ranks: 0, 1"), ("1, 3", 2, "2 of 3 ranks: 1, 2")],
)
def test_a_peer_that_gets_no_kernel(load, ranks: str, peer: int, group: str) -> None:
    """One finding: what follows from it, such as a wait for that peer, is not told."""
    text = COPY.replace("pl.FP32", "pl.INT32")
    text = text.replace("        tile = pl.load", f"{NOTIFY_ALL}        tile = pl.load")
    text = text.replace("pl.range(pld.world_size())", f"pl.range({ranks})")
    with pytest.raises(CompileError) as caught:
        trace_program(load(text), scalars={"shift": 0})
    (found,) = caught.value.diagnostics
    assert found.code.id == "AR404"
    assert f"names peer {peer} of data, which is passed to {group}" in found.message


def test_two_windows_of_one_buffer_in_a_dispatch(load) -> None:
    """pypto's runtime takes no task whose arguments share bytes."""
    kernel = "        data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],\n"
    text = COPY.replace(kernel, kernel + kernel.replace("data", "other"))
    text = text.replace("(source, data, at)", "(source, data, other, at)")
    text = text.replace("(x[r], data, shift", "(x[r], data, other, shift")
    window = "            data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)\n"
    text = text.replace(window, window + window.replace("data =", "other ="))
    assert refused(load, text).message == (
        "data and other are both windows of the buffer data, in one dispatch"
    )
