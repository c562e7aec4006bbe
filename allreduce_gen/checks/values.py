"""Symbolic values: what elements are made of, whatever their numbers.

A value describes a run of elements of a tile or of memory at once. Its leaves are
elements of an input: the one at `position + shift`, where `position` counts the
elements of the tile or memory that the value lies in. So one value serves a run of any
length, and moving it changes one number:

    x[0, 0:4096] loaded as a tile         Leaf(x), shift 0
    stored in data at element 0           Leaf(x), shift 0
    rank 1's copy: x is 4096 further on   Leaf(x), shift 4096
    their sum                             Combined(+, Leaf(x), Leaf(x), 4096), shift 0

Equal values are one object. `left + right` and `right + left` are equal: the order of
one combine's operands does not change its result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from allreduce_gen.ir.events import TileOp
from allreduce_gen.spec import DType

from .program import Point


@dataclass(frozen=True, slots=True)
class Leaf:
    """An element of host memory as it was before the call."""

    buffer: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A number that the program fills in."""

    value: float


@dataclass(frozen=True, slots=True)
class Unwritten:
    """Memory or a tile that nobody has written; `reader` is the event that uses it.

    `reader` is None while it lies where it is, unread.
    """

    what: str
    reader: Point | None


@dataclass(frozen=True, slots=True)
class Unknown:
    """No element of any input: another type's bytes, or a mismatch of shapes."""

    why: str


@dataclass(frozen=True, slots=True)
class Faulty:
    """What an event that another check refuses would have given: not judged."""


@dataclass(frozen=True, slots=True)
class Combined:
    """`left op right`; the right one is shifted by `apart` against the left one.

    `atomic` is an add in memory, whose order among others is open.
    """

    op: TileOp
    left: int
    right: int
    apart: int
    atomic: bool = False


@dataclass(frozen=True, slots=True)
class Scaled:
    """`source op scalar`, in the element type that both have."""

    op: TileOp
    source: int
    scalar: float
    dtype: DType


@dataclass(frozen=True, slots=True)
class Rounded:
    """`source` in another element type."""

    source: int
    dtype: DType
    mode: str


@dataclass(frozen=True, slots=True)
class Recast:
    """The bytes of `source`, elements of type `stored`, taken for another type's."""

    source: int
    stored: DType


Node: TypeAlias = (
    Leaf
    | Constant
    | Unwritten
    | Unknown
    | Faulty
    | Combined
    | Scaled
    | Rounded
    | Recast
)


class Value(NamedTuple):
    """A node, by its number, and how far its leaves are shifted."""

    node: int
    shift: int


_COMMUTES = frozenset({TileOp.ADD, TileOp.MUL, TileOp.MAX, TileOp.MIN})


class Values:
    """All nodes of one evaluation; equal nodes have one number.

    A value that is the same at every position always has shift 0.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._numbers: dict[Node, int] = {}
        self._uniform: set[int] = set()
        self.faulty = self.uniform(Faulty())

    def leaf(self, buffer: str) -> Value:
        """Elements of host memory, each at its own place."""
        return Value(self._number(Leaf(buffer)), 0)

    def uniform(self, node: Constant | Unwritten | Unknown | Faulty) -> Value:
        """A value that is the same at every position."""
        number = self._number(node)
        self._uniform.add(number)
        return Value(number, 0)

    def combine(
        self, op: TileOp, left: Value, right: Value, *, atomic: bool = False
    ) -> Value:
        """`left op right` at every position."""
        if self.faulty in (left, right):
            return self.faulty
        if op in _COMMUTES and right < left:
            left, right = right, left
        plain = {left.node, right.node} - self._uniform
        if not plain:
            number = self._number(Combined(op, left.node, right.node, 0, atomic))
            self._uniform.add(number)
            return Value(number, 0)
        shift = right.shift if left.node in self._uniform else left.shift
        apart = 0 if right.node in self._uniform else right.shift - shift
        return Value(
            self._number(Combined(op, left.node, right.node, apart, atomic)), shift
        )

    def scale(self, op: TileOp, source: Value, scalar: float, dtype: DType) -> Value:
        return self._wrap(Scaled(op, source.node, scalar, dtype), source)

    def round(self, source: Value, dtype: DType, mode: str) -> Value:
        return self._wrap(Rounded(source.node, dtype, mode), source)

    def recast(self, source: Value, stored: DType, dtype: DType) -> Value:
        """What was `stored` as one type, read as `dtype`; zeros are zeros in all.

        Bytes that are read as what they once were stored as are that again.
        """
        match self.nodes[source.node]:
            case Recast(source=inside, stored=first) if first is dtype:
                return Value(inside, source.shift)
            case Recast() | Unwritten() | Unknown() | Constant(value=0.0):
                return source
            case _:
                return self._wrap(Recast(source.node, stored), source)

    def move(self, value: Value, by: int) -> Value:
        """`value` as seen from positions that are `by` lower."""
        if by == 0 or value.node in self._uniform:
            return value
        return Value(value.node, value.shift + by)

    def _wrap(self, node: Scaled | Rounded | Recast, source: Value) -> Value:
        if source == self.faulty:
            return source
        number = self._number(node)
        if source.node in self._uniform:
            self._uniform.add(number)
        return Value(number, source.shift)

    def _number(self, node: Node) -> int:
        number = self._numbers.get(node)
        if number is None:
            number = self._numbers[node] = len(self.nodes)
            self.nodes.append(node)
        return number
