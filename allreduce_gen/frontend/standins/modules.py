"""The modules themselves: pypto, its language, and what a `main` imports."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from . import enums
from .decorators import JIT, MakeProgram, function, inline, program_decorator
from .objects import DATA_TYPES, Directed, Direction, DynamicDim, Operation
from .objects import Subscriptable as Kind


@dataclass(frozen=True, kw_only=True)
class DistributedConfig:
    """Which devices a program runs on; kept for whoever compiles it."""

    device_ids: list[int] = field(default_factory=lambda: [0])
    num_sub_workers: int = 0
    runtime: str = "tensormap_and_ringbuffer"
    aicpu_thread_num: int = 0


class RunConfig:
    """Options of a jit call; kept for whoever compiles it."""

    def __init__(self, **options: Any) -> None:
        self.__dict__.update(options)


def make_modules(make_program: MakeProgram) -> dict[str, ModuleType]:
    """Every stand-in by its dotted name; `@pl.program` returns `make_program`'s."""
    distributed = _module("pypto.language.distributed", "pld", _distributed_names())
    language_names = _language_names(make_program) | {"distributed": distributed}
    language = _module("pypto.language", "pl", language_names)
    config = {"DistributedConfig": DistributedConfig}
    compiled = _module("pypto.ir.distributed_compiled_program", "ir", config)
    ir_names = {"distributed_compiled_program": compiled, **config}
    ir = _module("pypto.ir", "ir", ir_names)
    runtime = _module("pypto.runtime", "runtime", {"RunConfig": RunConfig})
    root = {"language": language, "ir": ir, "runtime": runtime}
    modules = (_module("pypto", "pypto", root), language, distributed)
    return {one.__name__: one for one in (*modules, ir, compiled, runtime)}


def _module(name: str, short: str, names: dict[str, Any]) -> ModuleType:
    """A module in which every other name is an operation for kernels."""
    module = ModuleType(name)

    def missing(attribute: str) -> Operation:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return Operation(f"{short}.{attribute}")

    module.__dict__.update(names, __getattr__=missing, __path__=[])
    return module


def _language_names(make_program: MakeProgram) -> dict[str, Any]:
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
        "jit": JIT,
        "FunctionType": enums.FunctionType,
        "Level": enums.Level,
        "Role": enums.Role,
        "AtomicType": enums.AtomicType,
        "MemorySpace": enums.MemorySpace,
        "Mem": enums.MemorySpace,
    }


def _distributed_names() -> dict[str, Any]:
    return {
        "DistributedTensor": Kind("DistributedTensor"),
        "NotifyOp": enums.NotifyOp,
        "WaitCmp": enums.WaitCmp,
        "AtomicType": enums.AtomicType,
        "ReduceOp": enums.ReduceOp,
    }
