"""Runs an all-reduce on distinct inputs and holds every rank to numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from allreduce_gen.diagnostics import Diagnostic
from allreduce_gen.errors import ExecutionError
from allreduce_gen.ir.recognise import CallBuffers
from allreduce_gen.ir.trace import Trace
from allreduce_gen.spec import ReduceOp

from .base import Array, Counters, RunResult
from .compare import compare_with_reference
from .reference import make_inputs, reference_all_reduce, rounding_bound

Run: TypeAlias = Callable[[Mapping[str, Array]], RunResult]
"""An engine that has its program: inputs by buffer name to outputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """A run whose every result was right: one Counters a rank, over all calls."""

    num_ranks: int
    calls: int
    size: int
    counters: tuple[Counters, ...]


def run_all_reduce(
    run: Run, trace: Trace, calls: tuple[CallBuffers, ...], op: ReduceOp
) -> RunReport:
    """Let `run` work on inputs that sum exactly, and compare every rank's result.

    `trace` is what it runs. Raises ExecutionError: AR802 for a wrong result, else what
    `run` raises.
    """
    inputs = {
        one.source: make_inputs(
            num_ranks=trace.num_ranks, size=one.size, dtype=one.dtype, op=op
        )
        for one in calls
    }
    result = run(inputs)
    wrong = [
        finding
        for one in calls
        for finding in _compare(one, inputs[one.source], result.outputs[one.target], op)
    ]
    if wrong:
        raise ExecutionError(wrong)
    return RunReport(
        num_ranks=trace.num_ranks,
        calls=len(calls),
        size=calls[0].size,
        counters=result.counters,
    )


def _compare(
    call: CallBuffers, inputs: Array, got: Array, op: ReduceOp
) -> Iterator[Diagnostic]:
    finding = compare_with_reference(
        got.reshape(len(inputs), -1),
        reference_all_reduce(inputs, call.dtype, op),
        dtype=call.dtype,
        # Only an average of these inputs is rounded.
        bound=rounding_bound(inputs, call.dtype, op) if op is ReduceOp.AVG else 0.0,
        name=call.target,
    )
    if finding is not None:
        yield finding
