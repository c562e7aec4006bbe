"""What outputs hold, in terms of ranks: whose elements, from which position."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from allreduce_gen.ir.events import TileOp
from allreduce_gen.spec import DType

from .collectives import Source
from .evaluation import Evaluation
from .operands import Operand, Parts
from .program import Point
from .values import (
    Combined,
    Constant,
    Leaf,
    Node,
    Rounded,
    Scaled,
    Unknown,
    Unwritten,
    Value,
)


class Term(NamedTuple):
    """An input's element in an output's expression, and how it is scaled there.

    `operand` is the input's number among the operands. It is in there `times` over.
    """

    operand: int
    source: Source
    scales: tuple[tuple[str, float], ...]
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """An expression taken apart: its operator, input elements, and whatever else.

    `why` says what makes it no reduction, if anything does. `sources` and `operands`
    are those of `terms`, each once.
    """

    op: TileOp | None
    terms: tuple[Term, ...]
    sources: frozenset[Source]
    operands: frozenset[int]
    unwritten: tuple[Unwritten, ...]
    why: tuple[str, ...]
    is_faulty: bool

    @property
    def is_clean(self) -> bool:
        """Whether it is a reduction of input elements and nothing else."""
        return not (self.unwritten or self.why or self.is_faulty)


class Content(NamedTuple):
    """Elements `start` to `stop` of one rank's part of an output."""

    start: int
    stop: int
    value: Value  # shifted as seen from the part's first element
    terms: Terms
    writer: Point | None


_SCALE_TOL = 2.0**-20  # a factor is written in decimal, and held in FP32
_NEUTRAL: dict[TileOp | None, float] = {TileOp.ADD: 0.0, TileOp.MUL: 1.0}
_REDUCES = (TileOp.ADD, TileOp.MUL, TileOp.MAX, TileOp.MIN)
_Scales: TypeAlias = tuple[tuple[str, float], ...]
_Piece: TypeAlias = tuple[int, int, Terms]


class _Loose(NamedTuple):
    """A leaf of an expression, its shift, the scales around it, and how often."""

    node: int
    shift: int
    scales: _Scales
    times: int


@dataclass(slots=True)
class _Flat:
    """An expression without its shape: its leaves, in no order."""

    op: TileOp | None = None
    leaves: list[_Loose] = field(default_factory=list)
    why: list[str] = field(default_factory=list)
    casts: list[DType] = field(default_factory=list)


class Reader:
    """Reads outputs; what many ranks hold alike is taken apart once."""

    def __init__(self, evaluation: Evaluation, parts: dict[str, Parts]) -> None:
        self._evaluation, self._parts = evaluation, parts
        self._flat: dict[int, _Flat] = {}
        self._pieces: dict[tuple[Value, int, int], tuple[_Piece, ...]] = {}

    def read(self, operand: Operand, rank: int) -> Iterator[Content]:
        """What the part of `rank` of the output `operand` holds, from its start."""
        size, first = operand.dtype.nbytes, operand.first(rank)
        memory = self._evaluation.memory((operand.buffer.name, 0), operand.buffer)
        start, stop = first * size, (first + operand.size) * size
        for low, high, held in memory.read(start, stop):
            value = self._evaluation.values.move(held.value, first)
            span = (low // size - first, high // size - first)
            for piece in self._split(value, *span):
                yield Content(*piece[:2], value, piece[2], held.writer)

    def _split(self, value: Value, start: int, stop: int) -> tuple[_Piece, ...]:
        """`value` from `start` to `stop`, cut where a source changes its owner."""
        key = (value, start, stop)
        pieces = self._pieces.get(key)
        if pieces is None:
            flat = self._flatten(value.node)
            cuts = {start, stop}
            for leaf in flat.leaves:
                at = leaf.shift + value.shift
                cuts.update(self._cuts(leaf.node, at, start, stop))
            edges = sorted(cuts)
            pieces = self._pieces[key] = tuple(
                (low, high, self._terms(flat, value.shift, low))
                for low, high in itertools.pairwise(edges)
            )
        return pieces

    def _cuts(self, node: int, shift: int, start: int, stop: int) -> Iterator[int]:
        leaf = self._evaluation.values.nodes[node]
        if isinstance(leaf, Leaf) and leaf.buffer in self._parts:
            for at in self._parts[leaf.buffer].cuts(start + shift, stop + shift):
                yield at - shift

    def _flatten(self, root: int) -> _Flat:
        flat = self._flat.get(root)
        if flat is None:
            flat = self._flat[root] = _Flat()
            self._collect(root, flat)
        return flat

    def _collect(self, root: int, flat: _Flat) -> None:
        """Take `root` apart, each of its nodes once, however often it is in there."""
        todo = _Uses(root)
        while todo:
            number, uses = todo.pop()
            node = self._evaluation.values.nodes[number]
            _note(node, flat)
            for (shift, scales), count in uses.items():
                if isinstance(node, Combined):
                    todo.add(node.left, shift, scales, count)
                    todo.add(node.right, shift + node.apart, scales, count)
                elif isinstance(node, Scaled):
                    scale = (node.op.value, node.scalar)
                    todo.add(node.source, shift, (*scales, scale), count)
                elif isinstance(node, Rounded):
                    todo.add(node.source, shift, scales, count)
                else:
                    flat.leaves.append(_Loose(number, shift, scales, count))
        flat.leaves.sort()

    def _terms(self, flat: _Flat, shift: int, start: int) -> Terms:
        """The leaves of `flat` at the output's element `start` and on."""
        terms: list[Term] = []
        unwritten: list[Unwritten] = []
        why, is_faulty = list(flat.why), False
        for loose in flat.leaves:
            node = self._evaluation.values.nodes[loose.node]
            if isinstance(node, Leaf):
                term = self._term(node, loose, start, shift)
                terms += [] if term is None else [term]
                why += [f"elements of {node.buffer}"] if term is None else []
            elif isinstance(node, Unwritten):
                unwritten.append(node)
            elif isinstance(node, Constant):
                if _NEUTRAL.get(flat.op) != node.value:
                    why.append(f"the constant {node.value:g}")
            elif isinstance(node, Unknown):
                why.append(node.why)
            else:
                is_faulty = True
        why += self._odd_scales({term.scales for term in terms}, flat.op)
        why += self._lossy_casts(flat)
        return Terms(
            op=flat.op,
            terms=tuple(terms),
            sources=frozenset(term.source for term in terms),
            operands=frozenset(term.operand for term in terms),
            unwritten=tuple(unwritten),
            why=tuple(why),
            is_faulty=is_faulty,
        )

    def _lossy_casts(self, flat: _Flat) -> Iterator[str]:
        """Casts of real numbers to integers."""
        real = any(
            owner.operand.dtype.is_float
            for parts in self._parts.values()
            for owner in parts.owners[:1]
        )
        for dtype in dict.fromkeys(flat.casts):
            if real and not dtype.is_float:
                yield f"elements cut to {dtype.value}"

    def _odd_scales(
        self, scales: set[_Scales], combined_by: TileOp | None
    ) -> Iterator[str]:
        """Scales that make neither a plain reduction nor a mean of all ranks."""
        if len(scales) > 1:
            yield "elements scaled differently"
            return
        for one in scales:
            factor = math.prod(
                scalar if op == TileOp.MUL.value else 1 / (scalar or math.inf)
                for op, scalar in one
                if op in (TileOp.MUL.value, TileOp.DIV.value)
            )
            right = {1.0}
            if combined_by in (TileOp.ADD, None):
                right.add(1 / self._evaluation.num_ranks)
            if not any(math.isclose(factor, one, rel_tol=_SCALE_TOL) for one in right):
                yield f"elements scaled by {factor:g}"

    def _term(self, leaf: Leaf, loose: _Loose, start: int, shift: int) -> Term | None:
        by = loose.shift + shift
        parts = self._parts.get(leaf.buffer)
        found = parts.find(start + by) if parts else None
        if found is None:
            return None
        source = (found.rank, by - found.start)
        return Term(found.number, source, loose.scales, loose.times)


class _Uses:
    """Nodes still to be looked at: where each is, and how often.

    A node's operands have lower numbers. So the highest one has been reached by all
    that use it.
    """

    def __init__(self, root: int) -> None:
        self._heap = [-root]
        self._uses: dict[int, dict[tuple[int, _Scales], int]] = {root: {(0, ()): 1}}

    def __bool__(self) -> bool:
        return bool(self._heap)

    def pop(self) -> tuple[int, dict[tuple[int, _Scales], int]]:
        number = -heapq.heappop(self._heap)
        return number, self._uses.pop(number)

    def add(self, node: int, shift: int, scales: _Scales, count: int) -> None:
        uses = self._uses.get(node)
        if uses is None:
            uses = self._uses[node] = {}
            heapq.heappush(self._heap, -node)
        uses[shift, scales] = uses.get((shift, scales), 0) + count


def _note(node: Node, flat: _Flat) -> None:
    """What `node` means for the whole expression."""
    if isinstance(node, Combined):
        flat.op = flat.op or node.op
        if node.op is not flat.op:
            flat.why.append(f"{flat.op.value} and {node.op.value} mixed")
        elif node.op not in _REDUCES:
            flat.why.append(f"a {node.op.value}")
    elif isinstance(node, Scaled) and node.op not in (TileOp.MUL, TileOp.DIV):
        flat.why.append(f"the constant {node.scalar:g}")
    elif isinstance(node, Rounded):
        flat.casts.append(node.dtype)
