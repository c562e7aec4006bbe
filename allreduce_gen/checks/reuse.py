"""Slots used again although an earlier round has left them high (AR303)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from allreduce_gen.diagnostics import Diagnostic, Note, Severity, codes, diagnose

from .analysis import Analysis
from .happens_before import Order, compute_order
from .program import Point
from .races import Race, describe_race
from .replay import reach
from .slots import Awaited, Slot, make_sync
from .wording import Site, describe_wait, format_condition, site_of


class _Reuse(NamedTuple):
    """Wait number `round` of an agent on a slot, which an earlier one satisfied."""

    round: int
    earlier: int
    first: Awaited
    wait: Awaited


def check_reuse(analysis: Analysis, races: Sequence[Race]) -> Iterator[Diagnostic]:
    """AR303: an error where one of `races` would not be without the reuse."""
    groups: dict[tuple[Site, Site], list[_Reuse]] = {}
    for slot in analysis.sync.slots:
        for reuse in _reused(slot) if slot.doubt is None else ():
            key = (site_of(reuse.first.event), site_of(reuse.wait.event))
            groups.setdefault(key, []).append(reuse)
    if not groups:
        return
    intended = _intended_order(analysis)
    causes = [race for race in races if _orders(intended, race)]
    for reuses in groups.values():
        reuses.sort(key=lambda reuse: reuse.wait.point)
        yield _report_reuse(analysis, reuses, causes)


def has_reuse(slot: Slot) -> bool:
    """Whether a wait on `slot` wants no more than an earlier one."""
    return any(True for _ in _reused(slot))


def _reused(slot: Slot) -> Iterator[_Reuse]:
    """Waits of one agent that want no more than an earlier one of theirs saw."""
    highest: dict[int, tuple[int, int, Awaited]] = {}
    rounds: dict[int, int] = {}
    waits = sorted(zip(slot.waits, slot.thresholds, strict=True))
    for wait, threshold in waits:
        agent = wait.point.agent
        number = rounds[agent] = rounds.get(agent, -1) + 1
        known = highest.get(agent)
        if known is not None and threshold <= known[0] <= slot.total:
            yield _Reuse(number, known[1], known[2], wait)
        if known is None or threshold > known[0]:
            highest[agent] = (threshold, number, wait)


def _intended_order(analysis: Analysis) -> Order:
    """The order if every round on a slot waited for what it adds to the last one."""
    slots = tuple(
        dataclasses.replace(slot, thresholds=_intended_thresholds(slot))
        for slot in analysis.sync.slots
    )
    sync = make_sync(slots, analysis.sync.ends)
    return compute_order(sync, reach(sync))


def _intended_thresholds(slot: Slot) -> tuple[int, ...]:
    highest: dict[int, int] = {}
    intended: dict[Point, int] = {}
    for wait, threshold in sorted(zip(slot.waits, slot.thresholds, strict=True)):
        before = highest.get(wait.point.agent, 0)
        if threshold <= before:
            threshold = max(threshold, min(before + wait.event.expected, slot.total))
        intended[wait.point] = threshold
        highest[wait.point.agent] = max(before, threshold)
    return tuple(intended[wait.point] for wait in slot.waits)


def _orders(order: Order, race: Race) -> bool:
    first, second = race.pair
    return order.before(first, second) or order.before(second, first)


def _report_reuse(
    analysis: Analysis, reuses: list[_Reuse], causes: Sequence[Race]
) -> Diagnostic:
    """One finding for the same two lines on all ranks and slots."""
    consequence = _consequence(analysis, reuses, causes)
    agent = consequence.pair.second.agent if consequence else reuses[0].wait.point.agent
    mine = [reuse for reuse in reuses if reuse.wait.point.agent == agent]
    reuse = (mine or reuses)[0]
    program, wait = analysis.program, reuse.wait
    notes = [
        Note(
            label="first use",
            text=format_condition(reuse.first.event),
            location=program.location(reuse.first.point),
        )
    ]
    if consequence:
        text = f"{describe_race(analysis, consequence)} ({consequence.code.id})"
        notes.append(Note(label="consequence", text=text))
    return diagnose(
        codes.AR303,
        f"{program.call(wait.point)}barrier round {reuse.round} waits for "
        f"{describe_wait(wait.event)}, which round {reuse.earlier} has already "
        "satisfied",
        location=program.location(wait.point),
        notes=tuple(notes),
        severity=Severity.ERROR if consequence else Severity.WARNING,
        help="give each barrier round its own signal row, or wait for >= "
        f"{reuse.first.event.expected + wait.event.expected}",
    )


def _consequence(
    analysis: Analysis, reuses: list[_Reuse], causes: Sequence[Race]
) -> Race | None:
    """The race that the reuse leads to: one whose later access comes after the wait."""
    earliest: dict[int, Point] = {}
    for reuse in reuses:
        earliest.setdefault(reuse.wait.point.agent, reuse.wait.point)
    for race in causes:
        for point in reversed(race.pair):
            if point.agent in earliest and earliest[point.agent] < point:
                return race
    return None
