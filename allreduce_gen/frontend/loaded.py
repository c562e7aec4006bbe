"""Scalars that were read from memory: their values are known to whoever runs the trace.

They may be stored, and computed with; what decides where events go may not depend on
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from allreduce_gen.ir.events import Cast, Combine, Fill, Tile, TileOp
from allreduce_gen.spec import DType

from .affine import concrete
from .machine import Frame


class FromMemoryError(Exception):
    """A number was wanted, and there is a scalar that was read from memory."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A scalar that was read from memory, as the scalar tile that holds it."""

    tile: Tile

    def __getattr__(self, name: str) -> Any:
        raise FromMemoryError

    def __add__(self, other: object) -> Any:
        raise FromMemoryError

    def __neg__(self) -> Any:
        raise FromMemoryError

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __add__


_OPS = {"+": TileOp.ADD, "-": TileOp.SUB, "*": TileOp.MUL}


def combine(frame: Frame, op: str, left: Any, right: Any) -> Loaded:
    """`left op right`, of which one at least was read from memory.

    Raises FromMemoryError for an operator that scalar registers lack here.
    """
    if op not in _OPS:
        raise FromMemoryError
    kept = left if isinstance(left, Loaded) else right
    dtype = kept.tile.dtype
    agent = frame.agent
    one, other = (as_tile(frame, value, dtype) for value in (left, right))
    if one.dtype is not other.dtype:
        raise FromMemoryError
    tile = agent.new_tile((), dtype, ())
    agent.emit(Combine(tile=tile, op=_OPS[op], left=one, right=other))
    return Loaded(tile)


def convert(frame: Frame, value: Loaded, dtype: DType) -> Loaded:
    """`value` as a number of `dtype`."""
    if value.tile.dtype is dtype:
        return value
    agent = frame.agent
    tile = agent.new_tile((), dtype, ())
    agent.emit(Cast(tile=tile, source=value.tile, mode="rint"))
    return Loaded(tile)


def as_tile(frame: Frame, value: Any, dtype: DType) -> Tile:
    """A scalar as the tile that holds it; numbers become one of `dtype`."""
    if isinstance(value, Loaded):
        return value.tile
    agent = frame.agent
    tile = agent.new_tile((), dtype, ())
    number = value if isinstance(value, float) else concrete(value)
    agent.emit(Fill(tile=tile, value=float(number)))
    return tile
