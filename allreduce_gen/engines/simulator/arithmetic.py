"""What the vector unit computes, element by element, rounded after each operation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from allreduce_gen.engines.base import Array
from allreduce_gen.engines.elements import round_to
from allreduce_gen.ir.events import TileOp
from allreduce_gen.spec import DType


def combine(op: TileOp, left: Array, right: Array, dtype: DType) -> Array:
    """`left op right` in `dtype`: integers wrap and divide toward zero.

    A NaN on either side of a maximum or minimum wins.
    """
    return round_to(_OPERATIONS[op](left, right), dtype)


def scalar_of(value: float, dtype: DType) -> Array:
    """`value` as one element of `dtype`, to combine with a tile."""
    return round_to(np.asarray(value if dtype.is_float else int(value)), dtype)


def _divide(left: Array, right: Array) -> Array:
    if left.dtype.kind == "f":
        return np.asarray(left / right)
    quotient = left // right
    inexact = quotient * right != left
    return np.asarray(quotient + (inexact & ((left < 0) != (right < 0))))


_OPERATIONS: dict[TileOp, Callable[[Array, Array], Array]] = {
    TileOp.ADD: np.add,
    TileOp.SUB: np.subtract,
    TileOp.MUL: np.multiply,
    TileOp.DIV: _divide,
    TileOp.MAX: np.maximum,
    TileOp.MIN: np.minimum,
}
