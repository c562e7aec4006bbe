"""Programs as text, loaded and traced."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from allreduce_gen.diagnostics import Diagnostic
from allreduce_gen.errors import CompileError
from allreduce_gen.frontend import Program, TraceResult, load_programs, trace_program

HEADER = """\
import pypto.language as pl
import pypto.language.distributed as pld

NUM_RANKS = 4
SIZE = 64
OFFSETS = [16, 32, 0]
TABLE = {"a": 1}


@pl.program
class Example:
    RATE = 3

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
        data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[2, NUM_RANKS], pl.INT32]],
    ):
        ctx = pld.get_comm_ctx(data)
        me = pld.rank(ctx)
        nranks = pld.nranks(ctx)
"""

FOOTER = """
    @pl.function(type=pl.FunctionType.Orchestration)
    def per_rank(
        self,
        x: pl.Tensor[[1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
        data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[2, NUM_RANKS], pl.INT32]],
    ):
        self.kernel(x, y, data, signal)

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32]],
    ):
        data_buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
        signal_buf = pld.alloc_window_buffer([2, NUM_RANKS], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)
            signal = pld.window(signal_buf, [2, NUM_RANKS], dtype=pl.INT32)
            self.per_rank(x[r], y[r], data, signal, device=r)
"""


def program_text(body: str) -> str:
    """A program whose kernel does `body` on x, y, data and signal."""
    return HEADER + textwrap.indent(textwrap.dedent(body), " " * 8) + FOOTER


Load = Callable[[str], Program]
Trace = Callable[..., TraceResult]
Refuse = Callable[..., Diagnostic]


@pytest.fixture
def first_line() -> int:
    """The line in which a kernel's body starts."""
    return HEADER.count("\n") + 1


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """The one program of a file with this text, which is called kernel.py."""
    monkeypatch.chdir(tmp_path)

    def load_text(text: str) -> Program:
        Path("kernel.py").write_text(text)
        (program,) = load_programs(Path("kernel.py"))
        return program

    return load_text


@pytest.fixture
def trace(load: Load) -> Trace:
    """The trace of the program whose kernel has this body."""

    def trace_body(body: str, **options: Any) -> TraceResult:
        return trace_program(load(program_text(body)), **options)

    return trace_body


@pytest.fixture
def refuse(trace: Trace) -> Refuse:
    """The one diagnostic with which a kernel of this body is refused."""

    def refuse_body(body: str, **options: Any) -> Diagnostic:
        with pytest.raises(CompileError) as caught:
            trace(body, **options)
        (diagnostic,) = caught.value.diagnostics
        return diagnostic

    return refuse_body
