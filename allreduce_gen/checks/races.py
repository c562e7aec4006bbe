"""Races: two accesses to the same bytes, at least one a write, in no fixed order.

Atomic adds to the same bytes do not race with each other.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from allreduce_gen.diagnostics import Code, Diagnostic, Note, codes, diagnose
from allreduce_gen.ir.memory import format_region

from .accesses import (
    Access,
    Mode,
    conflicting,
    contested_boxes,
    overlapping,
)
from .analysis import Analysis
from .happens_before import Order
from .program import Point
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
    """One finding for each of `races`."""
    for race in races:
        yield _report(analysis, race)


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
    return tuple(
        Race(
            code=known[key[0]],
            pair=min(pairs, key=lambda pair: (pair.second, pair.first)),
            rank_pairs=frozenset(
                (program.rank(pair.first), program.rank(pair.second)) for pair in pairs
            ),
        )
        for key, pairs in sorted(groups.items())
    )


def _racing_pairs(analysis: Analysis) -> Iterator[Pair]:
    judge, stamps = analysis.judge, analysis.replay.stamps
    for left, right in _open_pairs(analysis):
        if (
            judge.happens(left)
            and judge.happens(right)
            and judge.unordered(left, right)
        ):
            swap = stamps[left.agent][left.at] > stamps[right.agent][right.at]
            yield Pair(right, left) if swap else Pair(left, right)


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
    if first.mode is second.mode is Mode.ATOMIC:
        return codes.AR411 if first.region.view.dtype.is_float else None
    if second.mode is Mode.READ:
        return codes.AR401
    if first.mode is Mode.READ:
        return codes.AR402
    return codes.AR403


def describe_race(analysis: Analysis, race: Race) -> str:
    """`rank 1 may read result[0, 16:32] of rank 2 before it is stored`."""
    first, second = (analysis.program.rank(point) for point in race.pair)
    access = _access(analysis, race.pair.second)
    what = format_region(access.region)
    if access.rank is not None:
        what += f" of rank {access.rank}"
    match race.code:
        case codes.AR401:
            return f"rank {second} may read {what} before it is stored"
        case codes.AR402:
            return f"rank {second} may overwrite {what} before rank {first} reads it"
        case codes.AR403:
            return f"rank {first} and rank {second} may write {what} in either order"
        case _:
            return f"rank {first} and rank {second} add to {what} in either order"


_HELP = {
    "AR401": "order them: a notify after the store, and a wait for it before the read",
    "AR402": "order them: a notify after the read, and a wait for it before the write; "
    "or write to memory that nobody reads any more",
    "AR403": "let only one rank write these bytes, or order the two writes by a notify "
    "and a wait",
    "AR411": "accept that sums may differ in the last bits from run to run, or give "
    "each rank a slot of its own and add them up in a fixed order",
}


def _report(analysis: Analysis, race: Race) -> Diagnostic:
    program = analysis.program
    other = _access(analysis, race.pair.first)
    notes = [
        Note(
            label="other access",
            text=f"rank {program.rank(race.pair.first)}, {other.mode.word} of "
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
    )
