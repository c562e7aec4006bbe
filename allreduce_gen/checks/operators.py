"""Whether one operator makes all of an output, on every rank."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from allreduce_gen.diagnostics import Diagnostic, codes, diagnose
from allreduce_gen.ir.events import TileOp

from .analysis import Analysis
from .collectives import Collective
from .operands import Operand
from .outputs import Output, beside, is_right
from .program import Point
from .wording import join_words, name_ranks, plural

Operator: TypeAlias = tuple[TileOp | None, float]
"""How contributions are combined, and the factor on what comes of that."""

_NAMES = {
    TileOp.ADD: "sum",
    TileOp.MUL: "product",
    TileOp.MAX: "maximum",
    TileOp.MIN: "minimum",
}
_MOST_NAMED = 2


class _Place(NamedTuple):
    """Elements `start` to `stop` of the output of `rank`."""

    rank: int
    start: int
    stop: int
    writer: Point | None


def compare_operators(
    analysis: Analysis, outputs: Iterable[Output], collective: Collective
) -> Iterator[Diagnostic]:
    """AR410 where a part of an output is made by another operator than most of it.

    Each output has an operator of its own; only reductions have any.
    """
    found: dict[Operand, dict[Operator, list[_Place]]] = {}
    for output in outputs:
        places = found.setdefault(output.operand, {})
        for content, want in beside(output, collective, 0):
            if len(want.sources) > 1 and is_right(output, content, want):
                place = _Place(output.rank, *content[:2], content.writer)
                operator = (content.terms.op, content.terms.scale)
                places.setdefault(operator, []).append(place)
    for operand, places in found.items():
        ordered = sorted(places, key=lambda one: -_size(places[one]))
        for operator in ordered[1:]:
            yield _report(analysis, operand, places, (operator, ordered[0]))


def _size(places: Iterable[_Place]) -> int:
    return sum(place.stop - place.start for place in places)


def _report(
    analysis: Analysis,
    operand: Operand,
    places: dict[Operator, list[_Place]],
    pair: tuple[Operator, Operator],
) -> Diagnostic:
    wrong, right = (
        f"{_describe(operator)} in {_name(operand, places[operator])}"
        for operator in pair
    )
    writer = places[pair[0]][0].writer
    return diagnose(
        codes.AR410,
        f"{operand.name} is made by two operators: {wrong}, but {right}",
        location=None if writer is None else analysis.program.location(writer),
        help="combine every part of it on every rank by one operator, and scale all of "
        "it or nothing",
    )


def _describe(operator: Operator) -> str:
    """`sum`, `sum scaled by 0.25`."""
    op, scale = operator
    assert op is not None  # only one contribution has none
    return f"{_NAMES[op]} scaled by {scale:g}" if scale != 1.0 else _NAMES[op]


def _name(operand: Operand, places: Iterable[_Place]) -> str:
    """`y[0:16] of ranks 0 and 1`, and how many more such parts there are."""
    ranks: dict[tuple[int, int], list[int]] = {}
    for place in _join(places):
        ranks.setdefault((place.start, place.stop), []).append(place.rank)
    words = [
        f"{operand.name}[{start}:{stop}] of {name_ranks(alike)}"
        for (start, stop), alike in ranks.items()
    ]
    rest = len(words) - _MOST_NAMED
    more = [plural(rest, "more part")] if rest > 0 else []
    return join_words([*words[:_MOST_NAMED], *more])


def _join(places: Iterable[_Place]) -> Iterator[_Place]:
    """`places` with those that one rank has side by side made one."""
    last: _Place | None = None
    for place in places:
        if last is not None and (last.rank, last.stop) == (place.rank, place.start):
            last = last._replace(stop=place.stop)
            continue
        if last is not None:
            yield last
        last = place
    if last is not None:
        yield last
