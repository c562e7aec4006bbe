"""The modules themselves: pypto, its language, and what a `main` imports."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from . import enums
from .compiled import DistributedCompiledProgram, DistributedWorker
from .configuration import PROFILER_LEVELS, DistributedConfig, RunConfig
from .decorators import Jit, MakeProgram, function, inline, program_decorator
from .objects import (
    DATA_TYPES,
    RUNTIME,
    Directed,
    Direction,
    DynamicDim,
    Operation,
)
from .objects import Subscriptable as Kind


def make_modules(
    make_program: MakeProgram, runtime: Any = None
) -> dict[str, ModuleType]:
    """Every stand-in by its dotted name; `@pl.program` returns `make_program`'s.

    With a `runtime`, what they name compiles and runs; else it is refused when called.
    """
    names = {
        "pypto.language": _language_names(make_program, runtime),
        "pypto.language.distributed": _distributed_names(),
        "pypto.ir": {} if runtime is None else {"compile": runtime.compile},
        "pypto.ir.distributed_compiled_program": {
            "DistributedConfig": DistributedConfig,
            "DistributedCompiledProgram": DistributedCompiledProgram,
        },
        "pypto.runtime": {
            "RunConfig": RunConfig,
            "DistributedWorker": DistributedWorker,
        },
        "pypto.runtime.runner": {"RunConfig": RunConfig} | PROFILER_LEVELS,
        "pypto.runtime.distributed_runner": {"DistributedWorker": DistributedWorker},
        "pypto.pypto_core": {
            "_set_thread_log_level": _log_nothing,
            "_clear_thread_log_level": _log_nothing,
        },
    }
    names["pypto.ir"] |= names["pypto.ir.distributed_compiled_program"]
    modules = {name: make_module(name, known) for name, known in names.items()}
    modules["pypto"] = make_module("pypto", {"LogLevel": enums.LogLevel})
    for name, module in modules.items():
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(modules[parent], child, module)
    return modules


def _log_nothing(*_: Any) -> None:
    """A log level is set or cleared, and nothing is logged here."""


_SHORT = {"pypto.language": "pl", "pypto.language.distributed": "pld"}


def make_module(name: str, names: dict[str, Any]) -> ModuleType:
    """A module in which every other name is an operation for kernels."""
    module = ModuleType(name)
    short = _SHORT.get(name, name.rpartition(".")[2])

    def missing(attribute: str) -> Operation:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return Operation(f"{short}.{attribute}")

    module.__dict__.update(names, __getattr__=missing, __path__=[])
    return module


def _language_names(make_program: MakeProgram, runtime: Any) -> dict[str, Any]:
    return DATA_TYPES | {
        "Tensor": Kind("Tensor"),
        "Tile": Kind("Tile"),
        "Scalar": Kind("Scalar"),
        "Out": Directed(Direction.OUT),
        "InOut": Directed(Direction.INOUT),
        "dynamic": DynamicDim,
        "program": program_decorator(make_program),
        "function": function,
        "inline": inline,
        "jit": Jit(runtime),
        "FunctionType": enums.FunctionType,
        "Level": enums.Level,
        "Role": enums.Role,
        "AtomicType": enums.AtomicType,
        "MemorySpace": enums.MemorySpace,
        "Mem": enums.MemorySpace,
        "RUNTIME": RUNTIME,
    }


def _distributed_names() -> dict[str, Any]:
    return {
        "DistributedTensor": Kind("DistributedTensor"),
        "NotifyOp": enums.NotifyOp,
        "WaitCmp": enums.WaitCmp,
        "AtomicType": enums.AtomicType,
        "ReduceOp": enums.ReduceOp,
    }
