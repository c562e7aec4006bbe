"""Static types of a kernel's names, as pypto's frontend tells them apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from allreduce_gen.spec import DType


@dataclass(frozen=True, slots=True)
class Dynamic:
    """A dimension that `pl.dynamic` names: known only from the tensor passed.

    `extent` computes it of other dimensions, by name, and gives None where it cannot.
    """

    name: str
    extent: Callable[[Mapping[str, int]], int | None] = field(
        default=lambda _: None, compare=False
    )


Dim: TypeAlias = int | Dynamic


@dataclass(frozen=True, slots=True)
class ScalarType:
    """One number. `name` is pypto's word for it: INDEX, INT32, BOOL, FP32."""

    name: str

    @property
    def is_integer(self) -> bool:
        return self.name in _INTEGER_BITS

    @property
    def bits(self) -> int:
        """Bits of an integer type."""
        return _INTEGER_BITS[self.name]


_INTEGER_BITS = {
    "INDEX": 64,
    "INT64": 64,
    "UINT64": 64,
    "INT32": 32,
    "UINT32": 32,
    "INT16": 16,
    "UINT16": 16,
    "INT8": 8,
    "UINT8": 8,
}
INDEX = ScalarType("INDEX")
INT32 = ScalarType("INT32")
INT64 = ScalarType("INT64")
BOOL = ScalarType("BOOL")
FLOAT = ScalarType("FP32")


@dataclass(frozen=True, slots=True)
class TensorType:
    """A tensor in memory; `is_window` says that peers may read it."""

    shape: tuple[Dim, ...]
    dtype: DType
    is_window: bool = False

    @property
    def is_static(self) -> bool:
        """Whether all its dimensions are numbers."""
        return all(isinstance(dim, int) for dim in self.shape)

    @property
    def num_elems(self) -> int:
        """Elements, those of dynamic dimensions not counted."""
        return math.prod(dim for dim in self.shape if isinstance(dim, int))


@dataclass(frozen=True, slots=True)
class OpenType:
    """A parameter's tensor whose shape and element type come with the call."""

    is_window: bool


@dataclass(frozen=True, slots=True)
class TileType:
    """On-chip data.

    A `valid` extent that is no constant is kept as the text of its expression.
    `memory` is Vec, None for what comes from a peer (pypto places that later), or DDR
    for what tensor operations compute: it is a tensor to pypto, and never leaves the
    chip.
    """

    shape: tuple[int, ...]
    valid: tuple[int | str, ...]
    dtype: DType
    memory: str | None = "Vec"


@dataclass(frozen=True, slots=True)
class ContextType:
    """What `pld.get_comm_ctx` returns."""


@dataclass(frozen=True, slots=True)
class BufferType:
    """What `pld.alloc_window_buffer` returns."""


@dataclass(frozen=True, slots=True)
class TupleType:
    """A list or tuple of values."""

    items: tuple[StaticType, ...]


@dataclass(frozen=True, slots=True)
class NoneType:
    """What a statement-like call returns."""


StaticType: TypeAlias = (
    ScalarType
    | TensorType
    | OpenType
    | TileType
    | ContextType
    | BufferType
    | TupleType
    | NoneType
)


def format_type(type_: StaticType) -> str:
    """The type as pypto's messages write it."""
    match type_:
        case ScalarType(name):
            return f"pl.Scalar[pl.{name}]"
        case TensorType(shape, dtype, is_window):
            word = "pld.DistributedTensor" if is_window else "pl.Tensor"
            return f"{word}[{_dims(shape)}, pl.{dtype.name}]"
        case OpenType(is_window):
            return "pld.DistributedTensor" if is_window else "pl.Tensor"
        case TileType(shape, valid, dtype, memory):
            cut = "" if valid == shape else f", valid_shape={_dims(valid)}"
            place = "" if memory is None else f", pl.Mem.{memory}"
            return f"pl.Tile[{_dims(shape)}, pl.{dtype.name}{place}{cut}]"
        case ContextType():
            return "pld.CommCtx"
        case BufferType():
            return "pl.Ptr"
        case TupleType(items):
            return f"({', '.join(map(format_type, items))})"
        case NoneType():
            return "None"


def _dims(dims: tuple[int | str | Dynamic, ...]) -> str:
    names = (dim.name if isinstance(dim, Dynamic) else str(dim) for dim in dims)
    return f"[{', '.join(names)}]"
