"""Values that a program file meets at run time in place of pypto's own."""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from allreduce_gen.frontend.refusals import refusal
from allreduce_gen.spec import DType


class Direction(enum.Enum):
    """How a function uses a parameter's memory."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"


@dataclass(frozen=True, slots=True)
class DataType:
    """An element type by pypto's name; some have no use in a collective."""

    name: str
    nbytes: int

    def get_byte(self) -> int:
        """Bytes of one element."""
        return self.nbytes

    @property
    def dtype(self) -> DType | None:
        """The type as this package knows it, where it does."""
        return DType.__members__.get(self.name)


DATA_TYPES = {
    name: DataType(name, nbytes)
    for nbytes, names in (
        (8, "INT64 UINT64 INDEX TASK_ID"),
        (4, "FP32 INT32 UINT32"),
        (2, "FP16 BF16 INT16 UINT16"),
        (1, "INT8 UINT8 BOOL FP8E4M3FN FP8E5M2 FP8E8M0 HF8 INT4 UINT4 FP4 HF4"),
    )
    for name in names.split()
}


@dataclass(frozen=True, slots=True)
class DynamicDim:
    """`pl.dynamic(name)`: a dimension known only when a tensor is passed."""

    name: str


@dataclass(frozen=True, slots=True)
class Annotation:
    """`pl.Tensor[[...], dtype]` and its kin; `kind` is the word before the bracket."""

    kind: str
    arguments: tuple[Any, ...]
    direction: Direction = Direction.IN


class Subscriptable:
    """Something of which annotations are made: `pl.Tensor[...]`."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __getitem__(self, arguments: Any) -> Annotation:
        items = arguments if isinstance(arguments, tuple) else (arguments,)
        return Annotation(self.kind, items)


class Directed:
    """`pl.Out[...]` and `pl.InOut[...]`."""

    def __init__(self, direction: Direction) -> None:
        self.direction = direction

    def __getitem__(self, inner: Annotation) -> Annotation:
        return Annotation(inner.kind, inner.arguments, self.direction)


class Operation:
    """A name of pypto that has a meaning in kernels only, such as `pl.load`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, attribute: str) -> Operation:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return Operation(f"{self.name}.{attribute}")

    def __call__(self, *_: Any, **__: Any) -> Any:
        caller = sys._getframe(1)
        raise refusal(
            caller.f_code.co_filename,
            caller.f_lineno,
            f"`{self.name}(...)` is called outside a kernel, while the file is loaded",
            help='call it in a kernel, or under `if __name__ == "__main__":`',
        )

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class Decorated:
    """A function under `@pl.function` or `@pl.jit`: nothing of it has been read yet.

    `closure` gives the names that its body may use beside its own.
    """

    function: Callable[..., Any]
    options: dict[str, Any]
    closure: Callable[[], dict[str, Any]]

    @property
    def name(self) -> str:
        return self.function.__name__
