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
        BarrierKind,
        DType,
        Form,
        Order,
        ReduceOp,
        Reuse,
        Transfer,
    )
    from .verdicts import check, check_source, run

__version__ = "0.1.0"

_HOMES = {
    "Accumulate": "spec",
    "Algorithm": "spec",
    "AllReduceGenError": "errors",
    "AllReduceResult": "kernel",
    "BarrierKind": "spec",
    "AllReduceSpec": "spec",
    "DType": "spec",
    "EngineName": "engines.base",
    "Form": "spec",
    "Order": "spec",
    "Kernel": "kernel",
    "ReduceOp": "spec",
    "Reuse": "spec",
    "RunOptions": "engines.base",
    "Transfer": "spec",
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
    "BarrierKind",
    "DType",
    "EngineName",
    "Form",
    "Kernel",
    "Order",
    "ReduceOp",
    "Reuse",
    "RunOptions",
    "Schedule",
    "Transfer",
    "__version__",
    "check",
    "check_source",
    "generate",
    "run",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
