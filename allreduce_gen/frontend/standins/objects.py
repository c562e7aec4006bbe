"""Values that a program file meets at run time in place of pypto's own."""

from __future__ import annotations

import enum
import operator
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from allreduce_gen.frontend.refusals import NeedsScriptError, refusal
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
    """`pl.dynamic(name)`: a dimension known only when a tensor is passed.

    `made_of` is there for a product or sum of it: what is computed, and of what.
    """

    name: str
    made_of: tuple[Callable[[int, int], int], Any, Any] | None = field(
        default=None, compare=False
    )

    def __add__(self, other: DynamicDim | int) -> DynamicDim:
        return self._with("+", operator.add, other)

    def __mul__(self, other: DynamicDim | int) -> DynamicDim:
        return self._with("*", operator.mul, other)

    __rmul__ = __mul__
    __radd__ = __add__

    def __sub__(self, other: DynamicDim | int) -> DynamicDim:
        return self._with("-", operator.sub, other)

    def __floordiv__(self, other: DynamicDim | int) -> DynamicDim:
        return self._with("//", operator.floordiv, other)

    def _with(
        self, sign: str, compute: Callable[[int, int], int], other: DynamicDim | int
    ) -> DynamicDim:
        named = other.name if isinstance(other, DynamicDim) else other
        return DynamicDim(f"({self.name} {sign} {named})", (compute, self, other))

    def extent(self, known: Mapping[str, int]) -> int | None:
        """The number that it is where plain dimensions are `known`; None if open."""
        if self.made_of is None:
            return known.get(self.name)
        compute, *operands = self.made_of
        left, right = (
            one.extent(known) if isinstance(one, DynamicDim) else one
            for one in operands
        )
        return None if left is None or right is None else compute(left, right)


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

    def open(self) -> Annotation:
        """The annotation without a bracket: bound to a shape when it is called."""
        return Annotation(self.kind, ())


class Directed:
    """`pl.Out[...]` and `pl.InOut[...]`."""

    def __init__(self, direction: Direction) -> None:
        self.direction = direction

    def __getitem__(self, inner: Annotation | Subscriptable) -> Annotation:
        if isinstance(inner, Subscriptable):  # a bare pl.Tensor: its shape comes later
            inner = inner.open()
        return Annotation(inner.kind, inner.arguments, self.direction)


def called_outside(name: str, caller: FrameType) -> Exception:
    """The AR703 for what `caller` calls in plain Python, and only kernels can."""
    refused = refusal(
        caller.f_code.co_filename,
        caller.f_lineno,
        f"`{name}(...)` is called outside a kernel, and does nothing there",
        help='call it in a kernel, or under `if __name__ == "__main__":`',
    )
    return NeedsScriptError(refused.diagnostics)


class Operation:
    """A name of pypto that has a meaning in kernels only, such as `pl.load`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, attribute: str) -> Operation:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return Operation(f"{self.name}.{attribute}")

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise called_outside(self.name, sys._getframe(1))

    def __or__(self, other: object) -> Operation:
        """`pypto.Thing | None` in an annotation, which nobody reads."""
        return self

    __ror__ = __or__

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class Decorated:
    """A function under `@pl.function` or `@pl.jit`: nothing of it has been read yet.

    `closure` gives the names that its body may use beside its own. `runtime` compiles
    it while a script is executed; there is none while a file is only loaded.
    """

    function: Callable[..., Any]
    options: dict[str, Any]
    closure: Callable[[], dict[str, Any]]
    runtime: Any = None

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of its parameters, in order."""
        code = self.function.__code__
        return code.co_varnames[: code.co_argcount]

    def compile(self, *arguments: Any, config: Any = None, **named: Any) -> Any:
        """The compiled program for tensors like these, or for the annotations' alone.

        The values of scalars are compiled in, but for those that are RUNTIME.
        """
        if self.runtime is None or not self.options.get("jit"):
            raise called_outside(self.name, sys._getframe(1))
        return self.runtime.compile_jit(self, arguments, named, config)

    def __call__(self, *arguments: Any, config: Any = None) -> Any:
        """Compile for `arguments`, and run on them."""
        if self.runtime is None or not self.options.get("jit"):
            raise called_outside(self.name, sys._getframe(1))
        return self.runtime.compile_jit(self, arguments, {}, config)(*arguments)


RUNTIME = object()
"""Marks a scalar that every call of a compiled jit function passes anew."""
