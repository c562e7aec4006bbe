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
_HELP = (
    "combine every part of it on every rank by one operator, and scale all of it or "
    "nothing"
)


class _Place(NamedTuple):
    """Elements `start` to `stop` of the output of `rank`."""

    rank: int
    start: int
    stop: int
    writer: Point | None


class _Made(NamedTuple):
    """A call that makes its output by some operator, and the first store of it."""

    call: str
    writer: Point | None


def compare_operators(
    analysis: Analysis, outputs: Iterable[Output], collective: Collective
) -> Iterator[Diagnostic]:
    """AR410 where a part of an output is made by another operator than most of it.

    Each output has an operator of its own, the same in all calls where those are to be
    alike; only reductions have any.
    """
    found: dict[Operand, dict[Operator, list[_Place]]] = {}
    for output in outputs:
        places = found.setdefault(output.operand, {})
        for content, want in beside(output, collective, 0):
            if len(want.sources) > 1 and is_right(output, content, want):
                place = _Place(output.rank, *content[:2], content.writer)
                operator = (content.terms.op, content.terms.scale)
                places.setdefault(operator, []).append(place)
    mostly: list[tuple[Operand, Operator, Point | None]] = []
    for operand, places in found.items():
        ordered = sorted(places, key=lambda one: -_size(places[one]))
        for operator in ordered[1:]:
            yield _report(analysis, operand, places, (operator, ordered[0]))
        for operator in ordered[:1]:
            mostly.append((operand, operator, places[operator][0].writer))
    if analysis.alike_calls:
        yield from _compare_calls(analysis, mostly)


def _compare_calls(
    analysis: Analysis, mostly: Iterable[tuple[Operand, Operator, Point | None]]
) -> Iterator[Diagnostic]:
    """AR410 for each operator of an output but that of the most calls."""
    found: dict[tuple[str, int, int], dict[Operator, list[_Made]]] = {}
    for operand, operator, writer in mostly:
        key = (operand.base, operand.start, operand.size)
        made = _Made(operand.call or "1", writer)
        found.setdefault(key, {}).setdefault(operator, []).append(made)
    for (name, _, _), calls in found.items():
        right, *others = sorted(calls, key=lambda operator: -len(calls[operator]))
        for wrong in others:
            yield _report_calls(
                analysis, name, (wrong, calls[wrong]), (right, calls[right])
            )


def _report_calls(
    analysis: Analysis,
    name: str,
    wrong: tuple[Operator, list[_Made]],
    right: tuple[Operator, list[_Made]],
) -> Diagnostic:
    words = [
        f"{_describe(operator)} in {_name_calls(made)}"
        for operator, made in (wrong, right)
    ]
    writer = wrong[1][0].writer
    return diagnose(
        codes.AR410,
        f"{name} is made by two operators: {words[0]}, but {words[1]}",
        location=None if writer is None else analysis.program.location(writer),
        help=_HELP,
    )


def _name_calls(made: list[_Made]) -> str:
    """`call 2`, `calls 1 and 3`."""
    return (
        f"call{'s' if len(made) > 1 else ''} {join_words([one.call for one in made])}"
    )


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
        help=_HELP,
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
