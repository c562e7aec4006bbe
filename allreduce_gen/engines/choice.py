"""One run on the engine that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from allreduce_gen.ir.trace import Trace

from .base import Array, EngineName, RunOptions, RunResult, SourceProgram
from .mpi import run_mpi
from .pypto import run_pypto
from .simulator import count_ranks, simulate


def run_engine(
    engine: EngineName,
    trace: Trace,
    source: SourceProgram,
    inputs: Mapping[str, Array],
    options: RunOptions,
) -> RunResult:
    """Run one program, which `trace` and `source` both say, on `inputs`.

    The counters of pypto, which has none of its own, are those of the trace.

    Raises EngineError, as the engine says.
    """
    match engine:
        case EngineName.SIMULATOR:
            return simulate(trace, inputs, options)
        case EngineName.MPI:
            return run_mpi(trace, inputs, options)
        case EngineName.PYPTO:
            outputs = run_pypto(source, inputs, options)
            return RunResult(outputs=outputs, counters=count_ranks(trace))
        case _:
            assert_never(engine)
