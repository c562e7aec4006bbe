"""The strictest run of an all-reduce: exact values, real values, and the same bits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from allreduce_gen.diagnostics import Diagnostic, codes, diagnose
from allreduce_gen.errors import ExecutionError
from allreduce_gen.ir.recognise import CallBuffers
from allreduce_gen.ir.trace import Trace
from allreduce_gen.spec import ReduceOp

from .all_reduce import run_all_reduce
from .base import Array, RunOptions
from .compare import compare_with_reference
from .reference import make_random_inputs, reference_all_reduce, rounding_bound
from .simulator import simulate


def audit_all_reduce(
    trace: Trace, calls: tuple[CallBuffers, ...], op: ReduceOp, options: RunOptions
) -> None:
    """Run `trace` twice: on values that reduce exactly, and on random ones.

    The first run must be exact, the second within the rounding bound, and every rank
    must get the same bits in it. Raises ExecutionError (AR802) where one is not.
    """
    run_all_reduce(lambda inputs: simulate(trace, inputs, options), trace, calls, op)
    inputs = {
        one.source: make_random_inputs(
            num_ranks=trace.num_ranks,
            size=one.size,
            dtype=one.dtype,
            op=op,
            seed=number,
        )
        for number, one in enumerate(calls)
    }
    result = simulate(trace, inputs, options)
    wrong = [
        finding
        for one in calls
        for finding in _judge(one, inputs[one.source], result.outputs[one.target], op)
    ]
    if wrong:
        raise ExecutionError(wrong)


def _judge(
    call: CallBuffers, inputs: Array, got: Array, op: ReduceOp
) -> Iterator[Diagnostic]:
    rows = got.reshape(len(inputs), -1)
    finding = compare_with_reference(
        rows,
        reference_all_reduce(inputs, call.dtype, op),
        dtype=call.dtype,
        bound=rounding_bound(inputs, call.dtype, op),
        name=call.target,
    )
    if finding is not None:
        yield finding
    bits = rows.view(np.uint8).reshape(len(rows), -1)
    for rank in np.flatnonzero((bits != bits[0]).any(axis=1)):
        yield diagnose(
            codes.AR802,
            f"ranks 0 and {rank} got different bits in {call.target}",
            help="let every chunk be reduced by one owner, or in one order",
        )
