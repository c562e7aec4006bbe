"""Generates, proves and runs specialised all-reduce kernels for pypto.

    from allreduce_gen import AllReduceSpec, generate

    kernel = generate(AllReduceSpec(num_ranks=4, size=4096))
    sums = kernel.run(inputs).outputs

Names are imported when they are first used, so that a process which needs one part of
the package, such as a rank of the MPI engine, loads no other.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .engines.base import EngineName, RunOptions, Schedule
    from .errors import AllReduceGenError
    from .kernel import AllReduceResult, Kernel
    from .pipeline import generate
    from .spec import (
        Accumulate,
        Algorithm,
        AllReduceSpec,
        DType,
        Form,
        ReduceOp,
        Reuse,
    )
    from .verdicts import check, check_source, run

__version__ = "0.1.0"

_HOMES = {
    "Accumulate": "spec",
    "Algorithm": "spec",
    "AllReduceGenError": "errors",
    "AllReduceResult": "kernel",
    "AllReduceSpec": "spec",
    "DType": "spec",
    "EngineName": "engines.base",
    "Form": "spec",
    "Kernel": "kernel",
    "ReduceOp": "spec",
    "Reuse": "spec",
    "RunOptions": "engines.base",
    "Schedule": "engines.base",
    "check": "verdicts",
    "check_source": "verdicts",
    "generate": "pipeline",
    "run": "verdicts",
}

__all__ = [
    "Accumulate",
    "Algorithm",
    "AllReduceGenError",
    "AllReduceResult",
    "AllReduceSpec",
    "DType",
    "EngineName",
    "Form",
    "Kernel",
    "ReduceOp",
    "Reuse",
    "RunOptions",
    "Schedule",
    "__version__",
    "check",
    "check_source",
    "generate",
    "run",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
