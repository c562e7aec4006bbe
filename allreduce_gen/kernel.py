"""Kernel: emitted source with its spec, plan, trace and cost; it can be run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from .diagnostics import Diagnostic
from .engines.base import (
    DEFAULT_OPTIONS,
    ENGINE_RULE,
    Counters,
    EngineName,
    RunOptions,
    SourceProgram,
)
from .engines.choice import run_engine
from .engines.pypto import compile_here
from .engines.tensors import stack
from .files import write_whole
from .frontend import load_source
from .ir.cost import Cost
from .ir.expand import expand
from .ir.plan import Plan
from .ir.recognise import call_buffers
from .ir.trace import Trace
from .sources import describe_source
from .spec import AllReduceSpec
from .targets import PLATFORM_RULE
from .values import DEVICES, optional, read_value

TensorsT = TypeVar("TensorsT")
"""One stacked tensor [ranks, ...], or a list of one tensor [...] a rank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllReduceResult(Generic[TensorsT]):
    """What a run gave: `outputs` of the kind and shape of the inputs.

    `counters` has one entry a rank: events, notifies, waits, remote bytes.
    """

    outputs: TensorsT
    counters: tuple[Counters, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One proved kernel, as `generate` makes it.

    `source` is the program's text, `plan` what one generic rank does, `trace` what all
    ranks do (several calls in a row where windows persist), `cost` what the busiest
    rank moves. `warnings` are what the checks found and did not refuse.
    """

    spec: AllReduceSpec
    source: str = field(repr=False)
    plan: Plan = field(repr=False)
    trace: Trace = field(repr=False)
    cost: Cost
    warnings: tuple[Diagnostic, ...] = ()

    def write(self, path: Path | str) -> None:
        """Write the source to `path`, whole or not at all.

        Raises EmitError (AR604) where `path` cannot be written.
        """
        write_whole(Path(path), self.source)

    def run(
        self,
        inputs: TensorsT,
        *,
        engine: str | EngineName = EngineName.SIMULATOR,
        options: RunOptions = DEFAULT_OPTIONS,
    ) -> AllReduceResult[TensorsT]:
        """All-reduce `inputs` once and return tensors of the same kind and shape.

        `inputs` is one stacked tensor [num_ranks, ...] or a list of num_ranks tensors
        [...], numpy's or torch's, each rank's with `size` elements of the kernel's
        element type. BF16 is torch's bfloat16, that of ml_dtypes, float32 values, or
        bits as uint16. A stacked, contiguous tensor is read where it lies; outputs are
        new memory, handed over without a copy. `engine` is a word of EngineName.

        Raises ExecutionError (AR505) for inputs that do not fit, and what the engine
        raises: EngineUnavailableError (AR701), CompileError (AR702), ExecutionError
        (AR801, AR803, AR804). Raises SpecError (AR107) for an unknown engine.
        """
        name = read_value("engine", engine, ENGINE_RULE)
        spec, trace = self.spec, self._one_call()
        stacked = stack(
            inputs, num_ranks=spec.num_ranks, size=spec.size, dtype=spec.dtype
        )
        buffers = call_buffers(trace)
        assert buffers is not None, "an emitted kernel reads x and writes y"
        result = run_engine(
            name,
            trace,
            self._source_program(spec.platform),
            {buffers[0].source: stacked.values},
            options,
        )
        return AllReduceResult(
            outputs=stacked.restore(result.outputs[buffers[0].target]),
            counters=result.counters,
        )

    def compile(
        self,
        *,
        platform: str | None = None,
        devices: tuple[int, ...] | None = None,
        output_dir: Path | str | None = None,
        compile_only: bool = False,
    ) -> Any:
        """The callable that the real pypto makes of this kernel, in this process.

        It is called with host torch tensors, the inputs and the outputs, and blocks.
        `platform` is the spec's unless given, `devices` are 0, 1, ... one a rank.
        `compile_only` stops before pypto's assembler; the result then only has an
        `output_dir`. One process serves one kind of platform: a2a3 or a5.

        Raises EngineUnavailableError (AR701) where pypto or a part of it is missing,
        CompileError (AR702) where it refuses the kernel, SpecError (AR107) for a
        platform or devices that are none.
        """
        target = self.spec.platform if platform is None else platform
        return compile_here(
            self._source_program(read_value("platform", target, PLATFORM_RULE)),
            devices=read_value("devices", devices, optional(DEVICES)),
            output_dir=None if output_dir is None else Path(output_dir),
            compile_only=compile_only,
        )

    def _one_call(self) -> Trace:
        calls = len(self.trace.agents[0].call_starts)
        return self.trace if calls == 1 else expand(self.plan)

    def _source_program(self, platform: str) -> SourceProgram:
        name = f"{self.spec.name}.py"
        program, *_ = load_source(self.source.encode(), name, Path.cwd())
        return describe_source(
            program,
            Path(name),
            platform=platform,
            num_ranks=self.spec.num_ranks,
            text=self.source,
        )
