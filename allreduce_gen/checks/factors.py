"""What the factors on elements do to them on their way: fractions lost, ranges left."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from allreduce_gen.ir.events import TileOp

from .exactness import SCALE_TOL, UNSIGNED
from .values import Combined, Leaf, Node, Recast, Rounded, Scaled

_WIDEST = 64.0
"""Up to this factor elements may grow or shrink on their way, or up to all ranks'."""

_CUT_EARLY = "fractions that integers lost before the last step"


class _Way(NamedTuple):
    """What lies behind an expression.

    `gain` is the factor on its elements so far, None where it has no elements; `low`
    and `high` are the least and greatest it ever was, but for its sign. Where it
    `is_cut`, the last step rounded it to integers. `why` says what was lost before.
    """

    gain: float | None = None
    low: float = 1.0
    high: float = 1.0
    is_cut: bool = False
    why: str | None = None


class Factors:
    """The factors in expressions; each node is looked at once.

    A sum of integers may be divided at the end: a mean. Nothing else may be done to
    integers that have been divided, and a multiplication wraps or loses a fraction.
    """

    def __init__(self, nodes: Sequence[Node], num_ranks: int) -> None:
        self._nodes, self._ways = nodes, list[_Way]()
        self._widest = max(_WIDEST, num_ranks) * (1 + SCALE_TOL)

    def lost(self, root: int) -> Iterator[str]:
        """What factors that make up for each other do not make good again."""
        for number in range(len(self._ways), root + 1):
            self._ways.append(self._way(self._nodes[number]))
        way = self._ways[root]
        if way.why is not None:
            yield way.why
        for extreme in (way.high, way.low):
            if not 1 / self._widest <= extreme <= self._widest:
                yield f"elements scaled by {extreme:g} on their way"
                return

    def _way(self, node: Node) -> _Way:
        match node:
            case Leaf():
                return _Way(gain=1.0)
            case Combined(op=op, left=left, right=right):
                return _meet(op, self._ways[left], self._ways[right])
            case Scaled(source=source):
                return _scale(node, self._ways[source])
            case Rounded(source=source, dtype=dtype) if not dtype.is_float:
                way = self._ways[source]
                return way._replace(is_cut=way.is_cut or not _is_whole(way.gain))
            case Rounded(source=source) | Recast(source=source):
                return self._ways[source]
            case _:
                return _Way()


def _meet(op: TileOp, left: _Way, right: _Way) -> _Way:
    """The way of a combination; in a product the factors of both operands meet."""
    gain = right.gain if left.gain is None else left.gain
    if op is TileOp.MUL and left.gain is not None and right.gain is not None:
        gain = left.gain * right.gain
    early = _CUT_EARLY if left.is_cut or right.is_cut else None
    met = _Way(
        gain=gain,
        low=min(left.low, right.low),
        high=max(left.high, right.high),
        why=left.why or right.why or early,
    )
    return _reach(met)


def _scale(node: Scaled, way: _Way) -> _Way:
    factor = factor_of(node)
    if factor == -1.0 and node.dtype in UNSIGNED:
        return way._replace(why=way.why or f"{node.dtype.value} elements negated")
    if abs(factor) == 1.0:
        return way if way.gain is None else way._replace(gain=way.gain * factor)
    if way.gain is None:
        return way
    scaled = way._replace(gain=way.gain * factor)
    if node.dtype.is_float:
        early = _CUT_EARLY if way.is_cut else None
        return _reach(scaled._replace(is_cut=False, why=way.why or early))
    if node.op is TileOp.DIV and float(node.scalar).is_integer():
        return scaled._replace(is_cut=True)
    how = "multiplied" if node.op is TileOp.MUL else "divided"
    why = f"{node.dtype.value} elements {how} by {node.scalar:g} on their way"
    return scaled._replace(why=way.why or why)


def _reach(way: _Way) -> _Way:
    """`way` with its extremes as far out as its gain is."""
    if way.gain is None:
        return way
    size = abs(way.gain)
    return way._replace(low=min(way.low, size), high=max(way.high, size))


def _is_whole(gain: float | None) -> bool:
    """Whether integers are still integers, as near as factors can be written."""
    if gain is None:
        return True
    return math.isfinite(gain) and math.isclose(gain, round(gain), rel_tol=SCALE_TOL)


def factor_of(node: Scaled) -> float:
    """What `node` multiplies by; 1 where it adds or compares."""
    match node.op:
        case TileOp.MUL:
            return node.scalar
        case TileOp.DIV:
            return 1 / (node.scalar or math.inf)
        case _:
            return 1.0
