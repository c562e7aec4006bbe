"""Slots that are no rising counters: Sets of several ranks, lowering by others."""

from __future__ import annotations

from collections.abc import Iterator

from allreduce_gen.diagnostics import Code, Diagnostic, Note, codes, diagnose
from allreduce_gen.ir.events import NotifyOp, Wait

from .analysis import Analysis
from .counterexample import blocked_moments, slot_values, tell
from .decided import Schedule
from .grouping import group
from .program import Point
from .slots import Doubt, Slot
from .wording import NOTIFY_FIRST, describe_wait, format_slot, name_ranks

_DOUBT_HELP = {
    Doubt.WRITTEN: "change slots by notifies only",
    Doubt.LOWERED: "let only the rank that waits on a slot lower it, by a notify to "
    "itself after the wait",
    Doubt.FALLING_SET: "count up: AtomicAdd, or Set to values that never fall",
    Doubt.SHARED_SET: "use pld.NotifyOp.AtomicAdd, or give each rank a slot of its own",
}


def check_uses(analysis: Analysis) -> Iterator[Diagnostic]:
    """AR307 and AR304 for what some order of events blocks at; AR309 where unknown."""
    yield from group(_check_sets(analysis))
    if analysis.decided is None:
        yield from group(_check_use(analysis))
    found = _blocked_in_some_order(analysis)
    if found is not None:
        yield _report_found(analysis, *found)


def _check_sets(analysis: Analysis) -> Iterator[Diagnostic]:
    """Slots that several ranks Set to one value, and some wait wants more."""
    for slot in analysis.sync.slots:
        if slot.doubt is None and _needs_more_than_one_set(slot):
            yield _report_use(analysis, slot, codes.AR307, Doubt.SHARED_SET)


def _check_use(analysis: Analysis) -> Iterator[Diagnostic]:
    """Awaited slots that are no rising counters."""
    for slot in analysis.sync.slots:
        if slot.waits and slot.doubt is not None:
            yield _report_use(analysis, slot, codes.AR309, slot.doubt)


def _blocked_in_some_order(
    analysis: Analysis,
) -> tuple[tuple[Point, ...], Schedule] | None:
    """Waits that an execution blocks at where the slots are no rising counters.

    It is one that a search has found, or else the canonical replay.
    """
    slots, stalls = analysis.sync.slots, analysis.replay.stalls
    if analysis.decided is not None and analysis.decided.blocked:
        doubtful = {point for slot in slots if slot.doubt for point, _ in slot.waits}
        is_told = any(
            not any(slots[one.slot].doubt for one in stall) for stall in stalls
        )
        if is_told and doubtful.isdisjoint(analysis.decided.blocked):
            return None  # a cycle that every order has
        return analysis.decided.blocked, analysis.decided.schedule
    if stalls and any(slots[one.slot].doubt for one in stalls[0]):
        blocked = tuple(one.point for one in stalls[0])
        return blocked, _schedule(analysis, analysis.replay.stalled_at[0])
    return None


def _schedule(analysis: Analysis, count: int) -> Schedule:
    """Who passes a notify or a wait in the first `count` events of the replay."""
    ats = [{op.at for op in mine} for mine in analysis.sync.ops]
    order = analysis.replay.order[:count]
    return tuple(point.agent for point in order if point.at in ats[point.agent])


def _report_found(
    analysis: Analysis, points: tuple[Point, ...], schedule: Schedule
) -> Diagnostic:
    """A deadlock that only some executions have."""
    program, first = analysis.program, points[0]
    values = slot_values(analysis, schedule) or {}
    blocked = [(one, values.get(_slot_of(analysis, one), 0)) for one in points]
    slots = [analysis.sync.slots[_slot_of(analysis, one)] for one in points]
    doubts = [slot.doubt for slot in slots if slot.doubt]
    wait, (_, seen) = program.event(first), blocked[0]
    assert isinstance(wait, Wait), "nothing but a wait blocks"
    why = f": {doubts[0].value}" if doubts else ""
    return diagnose(
        codes.AR307 if doubts else codes.AR304,
        f"{program.call(first)}in some order of events {program.name(first.agent)} "
        f"waits for {describe_wait(wait)} and sees {seen}, for ever{why}",
        location=program.location(first),
        counterexample=tell(analysis, schedule, blocked_moments(analysis, blocked)),
        help=_DOUBT_HELP[doubts[0]] if doubts else NOTIFY_FIRST,
    )


def _slot_of(analysis: Analysis, point: Point) -> int:
    return next(op.slot for op in analysis.sync.ops[point.agent] if op.at == point.at)


def _needs_more_than_one_set(slot: Slot) -> bool:
    setters = {one.point.agent for one in slot.notifies if one.event.op is NotifyOp.SET}
    return len(setters) > 1 and any(amount > slot.total for amount in slot.thresholds)


def _report_use(analysis: Analysis, slot: Slot, code: Code, doubt: Doubt) -> Diagnostic:
    program, wait = analysis.program, slot.waits[0]
    point = slot.notifies[0].point if slot.notifies else wait.point
    lost = "so a signal may be lost" if code is codes.AR307 else "so it is not decided"
    ranks = name_ranks(program.rank(one.point) for one in slot.notifies)
    return diagnose(
        code,
        f"slot {format_slot(slot.region)} of rank {slot.rank}: {doubt.value}, {lost}",
        location=program.location(point),
        notes=(
            Note(
                label="wait",
                text=f"rank {slot.rank} waits for {describe_wait(wait.event)}"
                + (f"; changed by {ranks}" if slot.notifies else ""),
                location=program.location(wait.point),
            ),
        ),
        help=_DOUBT_HELP[doubt],
    )
