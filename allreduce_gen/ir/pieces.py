"""Spans as tiles: which elements each load and store of a span moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .expr import Env, evaluate
from .steps import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """`count` tiles of `elems` elements, side by side from element `first` on.

    Of a single tile only the first `valid` elements are moved.
    """

    first: int
    elems: int
    valid: int
    count: int = 1

    @property
    def strides(self) -> tuple[tuple[int, int], ...]:
        """How far the tile moves from one round to the next, if there are several."""
        return ((0, self.elems),) if self.count > 1 else ()


def cut_span(span: Span, base: int, env: Env) -> Iterator[Piece]:
    """The tiles of `span` at element `base`, those past its limit left out."""
    tile, count = evaluate(span.tile, env), evaluate(span.num_tiles, env)
    tail = evaluate(span.tail, env)
    valid = tail or tile
    if span.cut is not None:
        valid = evaluate(span.cut, env)
    end = count * tile + valid if tail else (count - 1) * tile + valid
    if span.limit is not None:
        end = min(end, evaluate(span.limit, env) - base)
    full = max(min(end // tile, count), 0)
    if full:
        yield Piece(first=0, elems=tile, valid=tile, count=full)
    if end > full * tile:
        elems = tile if full < count else tail
        yield Piece(first=full * tile, elems=elems, valid=end - full * tile)
