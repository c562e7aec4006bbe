"""Signals that order nothing, or less than they seem to."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from allreduce_gen.diagnostics import Diagnostic, Note, Severity, codes, diagnose
from allreduce_gen.ir.events import NotifyOp

from .analysis import Analysis
from .barriers import FEWEST_RANKS
from .grouping import group
from .program import Point
from .races import Race, describe_race, find_races
from .reuse import check_reuse, has_reuse
from .slots import Notified, Slot, slot_byte
from .wording import Site, format_slot, join_words, name_ranks, site_of

_LINE_BYTES = 64


def check_signals(
    analysis: Analysis, races: Sequence[Race] | None = None
) -> Iterator[Diagnostic]:
    """AR302, AR303, AR305 (a loop of waits that misses a rank), AR310 and AR311.

    `races` are `find_races(analysis)`, where the caller has them.
    """
    found = find_races(analysis) if races is None else races
    yield from check_reuse(analysis, found)
    yield from group(_check_unawaited(analysis, found))
    yield from group(_check_surplus(analysis))
    yield from group(_check_repeated_sets(analysis))
    yield from group(_check_packed_sets(analysis))


def _check_unawaited(analysis: Analysis, races: Sequence[Race]) -> Iterator[Diagnostic]:
    rank_of = analysis.program.rank
    unawaited = [
        (slot, one)
        for slot in analysis.sync.slots
        if not slot.waits
        for one in slot.notifies[:1]
        if rank_of(one.point) != slot.rank
    ]
    barriers = _barriers(analysis) if unawaited else {}
    for slot, one in sorted(unawaited, key=lambda each: (each[0].rank, each[1].point)):
        loop = barriers.get((slot.rank, site_of(one.event)), {})
        missing = set(range(analysis.trace.num_ranks)) - {slot.rank, *loop}
        if missing == {rank_of(one.point)} and len(loop) >= FEWEST_RANKS - 2:
            yield _report_missing(analysis, slot, one, min(loop.values()), races)
        else:
            yield _report_unawaited(analysis, slot, one)


def _check_surplus(analysis: Analysis) -> Iterator[Diagnostic]:
    """The last notify of a counter that no wait wants, and that nobody lowers again.

    Where a later round wants no more than an earlier one, that is AR303.
    """
    rank_of = analysis.program.rank
    for slot in analysis.sync.slots:
        raising = [one for one in slot.notifies if one.event.value > 0]
        if slot.doubt or not slot.waits or not raising or has_reuse(slot):
            continue
        if any(one.event.op is NotifyOp.SET for one in slot.notifies):
            continue
        last = max(raising, key=lambda one: one.point)
        lowered = -sum(min(one.event.value, 0) for one in slot.notifies)
        wanted = max(*slot.thresholds, lowered)
        is_own = rank_of(last.point) == slot.rank
        if not is_own and slot.total - last.event.value >= wanted:
            yield _report_surplus(analysis, slot, last, wanted)


def _report_surplus(
    analysis: Analysis, slot: Slot, one: Notified, wanted: int
) -> Diagnostic:
    program = analysis.program
    return diagnose(
        codes.AR302,
        f"{program.call(one.point)}{program.name(one.point.agent)} notifies slot "
        f"{format_slot(slot.region)} of rank {slot.rank}, whose notifies add up to "
        f"{slot.total}; no wait wants more than {wanted}",
        location=program.location(one.point),
        help="wait for all of them where the order is needed, or drop the notify",
    )


_Barriers: TypeAlias = dict[tuple[int, Site], dict[int, Point]]


def _barriers(analysis: Analysis) -> _Barriers:
    """For each rank and line of notifies: whose notify it awaits, and where."""
    found: _Barriers = {}
    for slot in analysis.sync.slots:
        for one in slot.notifies if slot.waits else ():
            sender = analysis.program.rank(one.point)
            awaited = found.setdefault((slot.rank, site_of(one.event)), {})
            awaited[sender] = slot.waits[0].point
    return found


def _report_unawaited(analysis: Analysis, slot: Slot, one: Notified) -> Diagnostic:
    program = analysis.program
    return diagnose(
        codes.AR302,
        f"{program.call(one.point)}{program.name(one.point.agent)} notifies slot "
        f"{format_slot(slot.region)} of rank {slot.rank}, and no wait looks at it",
        location=program.location(one.point),
        help="wait for this slot where the order is needed, or drop the notify",
    )


def _report_missing(
    analysis: Analysis,
    slot: Slot,
    one: Notified,
    wait: Point,
    races: Sequence[Race],
) -> Diagnostic:
    """A loop of waits that covers all peers but the sender of `one`."""
    program, sender = analysis.program, analysis.program.rank(one.point)
    notes = [
        Note(
            label="notify",
            text=f"rank {sender} notifies slot {format_slot(slot.region)}, and no "
            "wait looks at it",
            location=program.location(one.point),
        )
    ]
    pair = {sender, slot.rank}
    for race in races:
        if any(pair == set(ranks) for ranks in race.rank_pairs):
            text = f"{describe_race(analysis, race)} ({race.code.id})"
            notes.append(Note(label="consequence", text=text))
            break
    return diagnose(
        codes.AR305,
        f"{program.call(wait)}rank {slot.rank} waits for every peer but rank {sender}",
        location=program.location(wait),
        notes=tuple(notes),
        severity=Severity.ERROR if len(notes) > 1 else Severity.WARNING,
        help="let the loop of waits cover all peers: step from 1 to NUM_RANKS - 1, "
        "peer = (my_rank + step) % NUM_RANKS",
    )


def _check_repeated_sets(analysis: Analysis) -> Iterator[Diagnostic]:
    program = analysis.program
    for slot in analysis.sync.slots:
        sets = [one for one in slot.notifies if one.event.op is NotifyOp.SET]
        for earlier, one in itertools.pairwise(sets):
            if earlier.point.agent == one.point.agent:
                rank = program.rank(one.point)
                yield diagnose(
                    codes.AR311,
                    f"{program.call(one.point)}rank {rank} Sets slot "
                    f"{format_slot(slot.region)} of rank {slot.rank} again",
                    location=program.location(one.point),
                    notes=(
                        Note(
                            label="first Set",
                            text=f"value {earlier.event.value}",
                            location=program.location(earlier.point),
                        ),
                    ),
                    help="use pld.NotifyOp.AtomicAdd, or a slot of its own for each "
                    "round",
                )
                break


def _check_packed_sets(analysis: Analysis) -> Iterator[Diagnostic]:
    lines: dict[tuple[int, str, int], list[Slot]] = {}
    for slot in analysis.sync.slots:
        if any(one.event.op is NotifyOp.SET for one in slot.notifies):
            line = slot_byte(slot.region) // _LINE_BYTES
            key = (slot.rank, slot.region.view.buffer.name, line)
            lines.setdefault(key, []).append(slot)
    for slots in lines.values():
        yield from _report_packed(analysis, slots)


def _report_packed(analysis: Analysis, slots: list[Slot]) -> Iterator[Diagnostic]:
    program = analysis.program
    setters = {
        program.rank(one.point)
        for slot in slots
        for one in slot.notifies
        if one.event.op is NotifyOp.SET
    }
    if len(slots) < 2 or len(setters) < 2:
        return
    first = slots[0].notifies[0].point
    names = join_words([format_slot(slot.region) for slot in slots])
    yield diagnose(
        codes.AR310,
        f"slots {names} of rank {slots[0].rank} share a {_LINE_BYTES}-byte line, and "
        f"{name_ranks(setters)} Set them",
        location=program.location(first),
        help="use pld.NotifyOp.AtomicAdd, or place the slots 64 bytes apart",
    )
