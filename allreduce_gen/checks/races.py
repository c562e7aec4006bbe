"""Races: two accesses to the same bytes, at least one a write, in no fixed order.

Atomic adds to the same bytes do not race with each other.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from allreduce_gen.diagnostics import Code, Diagnostic, Moment, Note, codes, diagnose
from allreduce_gen.ir.memory import format_region

from .accesses import (
    Access,
    Mode,
    conflicting,
    contested_boxes,
    overlapping,
)
from .analysis import Analysis
from .counterexample import MOST_FINDINGS, tell
from .decided import Decided
from .happens_before import Order
from .program import Point
from .replay import reach
from .schedules import shortest
from .wording import Site, name_ranks, plural, site_of


class Pair(NamedTuple):
    """Two accesses that race, as the canonical replay orders them."""

    first: Point
    second: Point


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """All racing accesses of two lines, as one finding about `pair`."""

    code: Code
    pair: Pair
    rank_pairs: frozenset[tuple[int, int]]


def check_races(analysis: Analysis) -> Iterator[Diagnostic]:
    """AR401, AR402 and AR403 for races; AR411 for atomic adds whose order is open."""
    return report_races(analysis, find_races(analysis))


def report_races(analysis: Analysis, races: Iterable[Race]) -> Iterator[Diagnostic]:
    """One finding for each of `races`, the first ones with a counterexample."""
    for number, race in enumerate(races):
        is_shown = number < MOST_FINDINGS and race.code is not codes.AR411
        yield _report(analysis, race, _show(analysis, race) if is_shown else ())


def find_races(analysis: Analysis) -> tuple[Race, ...]:
    """All races, put together by kind and by the lines of both accesses."""
    program = analysis.program
    groups: dict[tuple[str, Site, Site], list[Pair]] = {}
    known: dict[str, Code] = {}
    for pair in _racing_pairs(analysis):
        code = _code(analysis, pair)
        if code is not None:
            known[code.id] = code
            sites = (
                site_of(program.event(pair.first)),
                site_of(program.event(pair.second)),
            )
            groups.setdefault((code.id, *sites), []).append(pair)
    races = [
        Race(
            code=known[key[0]],
            pair=min(pairs, key=lambda pair: (pair.second, pair.first)),
            rank_pairs=frozenset(
                (program.rank(pair.first), program.rank(pair.second)) for pair in pairs
            ),
        )
        for key, pairs in sorted(groups.items())
    ]
    return tuple(sorted(races, key=lambda race: _place(analysis, race)))


def _place(analysis: Analysis, race: Race) -> tuple[object, ...]:
    """The order in which races are reported: by code, line and rank."""
    file, line, step, _ = site_of(analysis.program.event(race.pair.second))
    rank = analysis.program.rank(race.pair.second)
    return (race.code.id, file, step, line, rank, race.pair.second)


def _racing_pairs(analysis: Analysis) -> Iterator[Pair]:
    judge, decided = analysis.judge, analysis.decided
    if decided is not None:
        yield from (_pair(analysis, one.left, one.right) for one in decided.races)
    for left, right in _open_pairs(analysis):
        if decided is not None and not _are_atomic(analysis, left, right):
            continue
        if (
            judge.happens(left)
            and judge.happens(right)
            and judge.unordered(left, right)
        ):
            yield _pair(analysis, left, right)


def _pair(analysis: Analysis, left: Point, right: Point) -> Pair:
    stamps = analysis.replay.stamps
    swap = stamps[left.agent][left.at] > stamps[right.agent][right.at]
    return Pair(right, left) if swap else Pair(left, right)


def _are_atomic(analysis: Analysis, *points: Point) -> bool:
    return all(_access(analysis, point).mode is Mode.ATOMIC for point in points)


def _open_pairs(analysis: Analysis) -> Iterator[tuple[Point, Point]]:
    """Conflicting events of two agents that the order leaves open."""
    order = analysis.order
    for boxes in contested_boxes(analysis.accesses):
        for left, right in overlapping(boxes):
            for agent, ats, peer, peer_ats in conflicting(left, right):
                for at in ats:
                    yield from _open_with(order, Point(agent, at), peer, peer_ats)


def _open_with(
    order: Order, point: Point, peer: int, ats: list[int]
) -> Iterator[tuple[Point, Point]]:
    """`point` with the events `ats` of `peer` between those before and those after."""
    for index in range(bisect.bisect_left(ats, order.clock(point)[peer]), len(ats)):
        other = Point(peer, ats[index])
        if order.clock(other)[point.agent] > point.at:
            return
        yield point, other


def _access(analysis: Analysis, point: Point) -> Access:
    return analysis.accesses[point.agent][point.at]


def _code(analysis: Analysis, pair: Pair) -> Code | None:
    first, second = (_access(analysis, point) for point in pair)
    if _are_atomic(analysis, *pair):
        return codes.AR411 if first.region.view.dtype.is_float else None
    if second.mode is Mode.READ:
        return codes.AR401
    if first.mode is Mode.READ:
        return codes.AR402
    return codes.AR403


def describe_race(analysis: Analysis, race: Race) -> str:
    """`rank 1 may read result[0, 16:32] of rank 2 before it is stored`."""
    first, second = (analysis.program.name(point.agent) for point in race.pair)
    what = _memory(_access(analysis, race.pair.second))
    match race.code:
        case codes.AR401:
            return f"{second} may read {what} before it is stored"
        case codes.AR402:
            return f"{second} may overwrite {what} before {first} reads it"
        case codes.AR403:
            return f"{first} and {second} may write {what} in either order"
        case _:
            return f"{first} and {second} add to {what} in either order"


def _memory(access: Access) -> str:
    owner = "" if access.rank is None else f" of rank {access.rank}"
    return f"{format_region(access.region)}{owner}"


def _show(analysis: Analysis, race: Race) -> tuple[Moment, ...]:
    """An interleaving in which the two accesses come the other way round."""
    first, second = race.pair
    if analysis.decided is not None:
        schedule = _known_schedule(analysis.decided, race.pair)
    else:
        reached = reach(analysis.sync, first)
        schedule = shortest(analysis.sync, reached, (second,))
    return tell(
        analysis,
        schedule,
        (_touch(analysis, second, ""), _touch(analysis, first, " only now")),
    )


def _known_schedule(decided: Decided, pair: Pair) -> tuple[int, ...]:
    return next(
        one.schedule for one in decided.races if {one.left, one.right} == set(pair)
    )


def _touch(analysis: Analysis, point: Point, when: str) -> Moment:
    access, program = _access(analysis, point), analysis.program
    verb = ("reads", "writes", "adds to")[access.mode]
    return Moment(
        text=f"{program.name(point.agent)} {verb} {_memory(access)}{when}",
        location=program.location(point),
    )


_HELP = {
    "AR401": "order them: a notify after the store, and a wait for it before the read",
    "AR402": "order them: a notify after the read, and a wait for it before the write; "
    "or write to memory that nobody reads any more",
    "AR403": "let only one rank write these bytes, or order the two writes by a notify "
    "and a wait",
    "AR411": "accept that sums may differ in the last bits from run to run, or give "
    "each rank a slot of its own and add them up in a fixed order",
}


def _report(
    analysis: Analysis, race: Race, counterexample: tuple[Moment, ...]
) -> Diagnostic:
    program = analysis.program
    other = _access(analysis, race.pair.first)
    notes = [
        Note(
            label="other access",
            text=f"{program.name(race.pair.first.agent)}, {other.mode.word} of "
            f"{format_region(other.region)}",
            location=program.location(race.pair.first),
        )
    ]
    if len(race.rank_pairs) > 1:
        ranks = name_ranks(rank for pair in race.rank_pairs for rank in pair)
        count = plural(len(race.rank_pairs), "pair")
        notes.append(Note(label="extent", text=f"{count} of ranks, among {ranks}"))
    return diagnose(
        race.code,
        program.call(race.pair.second) + describe_race(analysis, race),
        location=program.location(race.pair.second),
        notes=tuple(notes),
        help=_HELP[race.code.id],
        counterexample=counterexample,
    )
