"""Expressions taken apart: their leaves, and what is done to all of them."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from allreduce_gen.ir.events import TileOp
from allreduce_gen.spec import DType

from .factors import factor_of
from .values import Combined, Node, Recast, Rounded, Scaled

_REDUCES = (TileOp.ADD, TileOp.MUL, TileOp.MAX, TileOp.MIN)
_TURNED = {TileOp.MAX: TileOp.MIN, TileOp.MIN: TileOp.MAX}


class Loose(NamedTuple):
    """A leaf of an expression, its shift, the factor around it, and how often."""

    node: int
    shift: int
    scale: float
    times: int


@dataclass(slots=True)
class Flat:
    """An expression without its shape: its leaves, in no order.

    `why` says what makes it no reduction, if anything does; `casts` are the types that
    some of it passes through. A product has one factor, on each of its leaves: that of
    all that is multiplied. A maximum of what is negated is a minimum, and the other way
    round.
    """

    op: TileOp | None = None
    leaves: list[Loose] = field(default_factory=list)
    why: list[str] = field(default_factory=list)
    casts: set[DType] = field(default_factory=set)
    product: float = 1.0
    lost: list[str] = field(default_factory=list)


def flatten(nodes: Sequence[Node], root: int) -> Flat:
    """Take `root` apart, each of its nodes once, however often it is in there."""
    flat, todo = Flat(), _Uses(root)
    while todo:
        number, uses = todo.pop()
        node = nodes[number]
        _note(node, {scale < 0 for _, scale in uses}, flat)
        for (shift, scale), count in uses.items():
            match node:
                case Combined(op=TileOp.MUL, left=left, right=right, apart=apart):
                    flat.product *= _power(scale, count)
                    todo.add(left, shift, 1.0, count)
                    todo.add(right, shift + apart, 1.0, count)
                case Combined(left=left, right=right, apart=apart):
                    todo.add(left, shift, scale, count)
                    todo.add(right, shift + apart, scale, count)
                case Scaled(source=source):
                    todo.add(source, shift, scale * factor_of(node), count)
                case Rounded(source=source) | Recast(source=source):
                    todo.add(source, shift, scale, count)
                case _:
                    flat.leaves.append(Loose(number, shift, scale, count))
    if flat.op is TileOp.MUL:
        _share(flat)
    flat.leaves.sort()
    return flat


def _share(flat: Flat) -> None:
    """Put the whole product's factor on each of its leaves."""
    for leaf in flat.leaves:
        flat.product *= _power(leaf.scale, leaf.times)
    flat.leaves = [leaf._replace(scale=flat.product) for leaf in flat.leaves]


def _power(factor: float, count: int) -> float:
    """`factor` to the `count`; infinite where it is too large."""
    try:
        return factor**count
    except OverflowError:
        return math.inf


class _Uses:
    """Nodes still to be looked at: where each is, and how often.

    A node's operands have lower numbers. So the highest one has been reached by all
    that use it.
    """

    def __init__(self, root: int) -> None:
        self._heap = [-root]
        self._uses: dict[int, dict[tuple[int, float], int]] = {root: {(0, 1.0): 1}}

    def __bool__(self) -> bool:
        return bool(self._heap)

    def pop(self) -> tuple[int, dict[tuple[int, float], int]]:
        number = -heapq.heappop(self._heap)
        return number, self._uses.pop(number)

    def add(self, node: int, shift: int, scale: float, count: int) -> None:
        uses = self._uses.get(node)
        if uses is None:
            uses = self._uses[node] = {}
            heapq.heappush(self._heap, -node)
        uses[shift, scale] = uses.get((shift, scale), 0) + count


def _note(node: Node, signs: set[bool], flat: Flat) -> None:
    """What `node` means for the whole expression, negated where `signs` say so."""
    match node:
        case Combined(op=op):
            for is_negated in sorted(signs):
                _note_operator(_TURNED.get(op, op) if is_negated else op, flat)
        case Scaled(op=TileOp.MUL | TileOp.DIV):
            pass
        case Scaled(op=TileOp.ADD | TileOp.SUB, scalar=0.0):
            pass  # changes nothing
        case Scaled(scalar=scalar):
            flat.why.append(f"the constant {scalar:g}")
        case Rounded(dtype=dtype):
            flat.casts.add(dtype)
        case Recast(stored=stored):
            flat.why.append(f"bytes of {stored.value} elements read as another type")
        case _:
            pass


def _note_operator(op: TileOp, flat: Flat) -> None:
    flat.op = flat.op or op
    if op is not flat.op:
        flat.why.append(f"{flat.op.value} and {op.value} mixed")
    elif op not in _REDUCES:
        flat.why.append(f"a {op.value}")
