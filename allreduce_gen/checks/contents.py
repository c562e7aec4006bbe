"""What outputs hold, in terms of ranks: whose elements, from which position."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from allreduce_gen.ir.events import TileOp
from allreduce_gen.spec import DType

from .collectives import Source
from .evaluation import Evaluation
from .exactness import common_scale, narrowed
from .expressions import Flat, Loose, flatten
from .factors import Factors
from .operands import Operand, Parts
from .program import Point
from .values import Constant, Faulty, Leaf, Node, Unknown, Unwritten, Value

IDEMPOTENT = (TileOp.MAX, TileOp.MIN)
"""What an element changes once, however often it is in there."""


class Term(NamedTuple):
    """An input's element in an output's expression, and the factor on it there.

    `operand` is the input's number among the operands. It is in there `times` over.
    """

    operand: int
    source: Source
    scale: float
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """An expression taken apart: its operator, input elements, and whatever else.

    `sources` and `operands` are those of `terms`, each once, and `scale` is the factor
    on all of them. `why` says what makes it no reduction, if anything does, and
    `narrowed` which casts, as (from, to), lose some of an element.
    """

    op: TileOp | None
    terms: tuple[Term, ...]
    sources: frozenset[Source]
    operands: frozenset[int]
    scale: float
    unwritten: tuple[Unwritten, ...]
    why: tuple[str, ...]
    narrowed: tuple[tuple[DType, DType], ...]
    is_faulty: bool

    @property
    def is_pure(self) -> bool:
        """Whether it is made of input elements, altered or not, and nothing else."""
        return not (self.unwritten or self.why or self.is_faulty)

    @property
    def times(self) -> int:
        """How many input elements are combined, each as often as it is in there."""
        return sum(term.times for term in self.terms)

    @property
    def is_untouched(self) -> bool:
        """Whether nobody has written it."""
        return any(node.reader is None for node in self.unwritten)

    @property
    def losses(self) -> Iterator[str]:
        """The casts that give other numbers: all but those that round reals."""
        for source, dtype in self.narrowed:
            how = "rounded" if dtype.is_float else "cut"
            if not (source.is_float and dtype.is_float):
                yield f"{source.value} elements {how} to {dtype.value}"


class Content(NamedTuple):
    """Elements `start` to `stop` of one rank's part of an output."""

    start: int
    stop: int
    value: Value  # shifted as seen from the part's first element
    terms: Terms
    writer: Point | None


_NEUTRAL: dict[TileOp | None, float] = {TileOp.ADD: 0.0, TileOp.MUL: 1.0}
_Piece: TypeAlias = tuple[int, int, Terms]


class Reader:
    """Reads outputs; what many ranks hold alike is taken apart once."""

    def __init__(self, evaluation: Evaluation, parts: dict[str, Parts]) -> None:
        self._evaluation, self._parts = evaluation, parts
        self._nodes, self._num_ranks = evaluation.values.nodes, evaluation.num_ranks
        self._dtypes = {
            owner.number: owner.operand.dtype
            for one in parts.values()
            for owner in one.owners
        }
        self._flat: dict[int, Flat] = {}
        self._factors = Factors(self._nodes, self._num_ranks)
        self._pieces: dict[tuple[Value, int, int, DType], tuple[_Piece, ...]] = {}

    def read(self, operand: Operand, rank: int) -> Iterator[Content]:
        """What the part of `rank` of the output `operand` holds, from its start."""
        size, first = operand.dtype.nbytes, operand.first(rank)
        memory = self._evaluation.memory((operand.buffer.name, 0), operand.buffer)
        start, stop = first * size, (first + operand.size) * size
        for low, high, held in memory.read(start, stop):
            seen = self._evaluation.as_type(held, operand.dtype)
            value = self._evaluation.values.move(seen, first)
            span = (low // size - first, high // size - first)
            for piece in self._split(value, *span, operand.dtype):
                yield Content(*piece[:2], value, piece[2], held.writer)

    def _split(
        self, value: Value, start: int, stop: int, target: DType
    ) -> tuple[_Piece, ...]:
        """`value` from `start` to `stop`, cut where a source changes its owner."""
        key = (value, start, stop, target)
        pieces = self._pieces.get(key)
        if pieces is None:
            flat = self._flatten(value.node)
            cuts = {start, stop}
            for leaf in flat.leaves:
                at = leaf.shift + value.shift
                cuts.update(self._cuts(leaf.node, at, start, stop))
            edges = sorted(cuts)
            pieces = self._pieces[key] = tuple(
                (low, high, self._terms(flat, low, value.shift, target))
                for low, high in itertools.pairwise(edges)
            )
        return pieces

    def _cuts(self, node: int, shift: int, start: int, stop: int) -> Iterator[int]:
        leaf = self._nodes[node]
        if isinstance(leaf, Leaf) and leaf.buffer in self._parts:
            for at in self._parts[leaf.buffer].cuts(start + shift, stop + shift):
                yield at - shift

    def _flatten(self, root: int) -> Flat:
        flat = self._flat.get(root)
        if flat is None:
            flat = self._flat[root] = flatten(self._nodes, root)
            flat.lost += self._factors.lost(root)
        return flat

    def _terms(self, flat: Flat, start: int, shift: int, target: DType) -> Terms:
        """The leaves of `flat` at the output's element `start` and on."""
        leaves = [self._nodes[loose.node] for loose in flat.leaves]
        found = [
            (leaf, self._term(leaf, loose, start, shift))
            for leaf, loose in zip(leaves, flat.leaves, strict=True)
            if isinstance(leaf, Leaf)
        ]
        terms = tuple(term for _, term in found if term is not None)
        operands = frozenset(term.operand for term in terms)
        scale = common_scale({term.scale for term in terms}, self._num_ranks)
        return Terms(
            op=flat.op,
            terms=terms,
            sources=frozenset(term.source for term in terms),
            operands=operands,
            scale=1.0 if scale is None else scale,
            unwritten=tuple(leaf for leaf in leaves if isinstance(leaf, Unwritten)),
            why=(
                *flat.why,
                *(f"elements of {leaf.buffer}" for leaf, term in found if term is None),
                *(text for leaf in leaves for text in _foreign(leaf, flat.op)),
                *(tuple(self._odd_scale(scale, flat.op)) or flat.lost),
            ),
            narrowed=narrowed(
                flat.casts, {self._dtypes[one] for one in operands}, target
            ),
            is_faulty=any(isinstance(leaf, Faulty) for leaf in leaves),
        )

    def _odd_scale(self, scale: float | None, op: TileOp | None) -> Iterator[str]:
        """A scale that makes neither a plain reduction nor a mean of all ranks."""
        means = op in (TileOp.ADD, None) and scale == 1 / self._num_ranks
        if scale is None:
            yield "elements scaled differently"
        elif scale != 1.0 and not means:
            yield f"elements scaled by {scale:g}"

    def _term(self, leaf: Leaf, loose: Loose, start: int, shift: int) -> Term | None:
        by = loose.shift + shift
        parts = self._parts.get(leaf.buffer)
        found = parts.find(start + by) if parts else None
        if found is None:
            return None
        source = (found.rank, by - found.start)
        return Term(found.number, source, loose.scale, loose.times)


def _foreign(leaf: Node, op: TileOp | None) -> Iterator[str]:
    """What `leaf` brings in that is no rank's element."""
    match leaf:
        case Constant(value=value) if _NEUTRAL.get(op) != value:
            yield f"the constant {value:g}"
        case Unknown(why=why):
            yield why
        case _:
            pass
