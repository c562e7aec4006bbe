from __future__ import annotations
from collections.abc import Mapping
from allreduce_gen.engines.base import Array, RunOptions, RunResult
from allreduce_gen.ir.trace import Trace


def run_mpi(
    trace: Trace, inputs: Mapping[str, Array], options: RunOptions
) -> RunResult:
    raise NotImplementedError
