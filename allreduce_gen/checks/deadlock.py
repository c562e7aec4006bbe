"""Whether every wait is satisfied, in every interleaving.

Slots that are rising counters are decided by one replay, and so are equalities on them
(AR306). Other uses of a slot are not decided here (AR309), but by a search of all
executions, where there was one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from allreduce_gen.diagnostics import Diagnostic, Moment, Note, codes, diagnose
from allreduce_gen.ir.events import NotifyOp, Wait, WaitCmp

from .analysis import Analysis
from .barriers import MissedPeer, missed_peers
from .counterexample import blocked_moments, tell
from .equality import check_equalities
from .program import Point
from .replay import Blocked
from .schedules import Demand, shortest
from .slots import Slot
from .uses import check_uses
from .wording import NOTIFY_FIRST, Site, describe_wait, name_ranks, site_of


def check_deadlock(analysis: Analysis) -> Iterator[Diagnostic]:
    """AR301, AR304, AR305 for waits that block for ever; AR306, AR307, AR309."""
    yield from analysis.program.refused
    yield from _report_hopeless_waits(analysis)
    yield from _report_cycles(analysis)
    yield from check_equalities(analysis)
    yield from check_uses(analysis)


def _report_hopeless_waits(analysis: Analysis) -> Iterator[Diagnostic]:
    """One finding for each line of waits that are never satisfied, and who hangs on."""
    groups: dict[Site, dict[int, Blocked]] = {}
    behind: dict[Site, list[Blocked]] = {}
    for stall in analysis.replay.stalls:
        hopeless = [one for one in stall if one.hopeless]
        for one in hopeless:
            site = site_of(analysis.program.event(one.point))
            groups.setdefault(site, {}).setdefault(one.point.agent, one)
        if hopeless:
            first = site_of(analysis.program.event(hopeless[0].point))
            behind.setdefault(first, [one for one in stall if not one.hopeless])
    for site, blocked in groups.items():
        yield _report_hopeless(analysis, [*blocked.values()], behind.get(site, []))


def _report_cycles(analysis: Analysis) -> Iterator[Diagnostic]:
    """One finding for each line of waits that ranks block each other at."""
    seen: set[Site] = set()
    for stall in analysis.replay.stalls:
        waiting = [one for one in stall if not _has_run_past(analysis, one)]
        if any(analysis.sync.slots[one.slot].doubt for one in waiting):
            continue  # it depends on the order: `check_uses` tells
        if waiting and not any(one.hopeless for one in stall):
            site = site_of(analysis.program.event(waiting[0].point))
            if site not in seen:
                yield _report_cycle(analysis, waiting)
            seen.add(site)


def _wait(analysis: Analysis, one: Blocked) -> Wait:
    event = analysis.program.event(one.point)
    assert isinstance(event, Wait)
    return event


def _has_run_past(analysis: Analysis, one: Blocked) -> bool:
    """Whether an equality blocks because its slot is already higher (AR306)."""
    wait = _wait(analysis, one)
    return wait.cmp is WaitCmp.EQ and one.seen > wait.expected


def _blocked_notes(
    analysis: Analysis, label: str, blocked: Sequence[Blocked]
) -> tuple[Note, ...]:
    return tuple(
        Note(
            label=label,
            text=f"{analysis.program.name(one.point.agent)} waits for "
            f"{describe_wait(_wait(analysis, one))} and sees {one.seen}",
            location=analysis.program.location(one.point),
        )
        for one in blocked
    )


def _report_cycle(analysis: Analysis, waiting: list[Blocked]) -> Diagnostic:
    program, first = analysis.program, waiting[0]
    ranks = name_ranks(program.rank(one.point) for one in waiting)
    return diagnose(
        codes.AR304,
        f"{program.call(first.point)}{ranks} wait for ever: rank "
        f"{program.rank(first.point)} waits for {describe_wait(_wait(analysis, first))}"
        f" and sees {first.seen}, and what would raise it comes after a wait that is "
        "itself blocked",
        location=program.location(first.point),
        notes=_blocked_notes(analysis, "blocked", waiting[1:]),
        counterexample=_show(analysis, waiting),
        help=NOTIFY_FIRST,
    )


def _report_hopeless(
    analysis: Analysis, blocked: list[Blocked], behind: list[Blocked]
) -> Diagnostic:
    notes = _blocked_notes(analysis, "blocked", blocked[1:])
    notes += _blocked_notes(analysis, "blocked behind it", behind)
    missed = missed_peers(analysis, blocked)
    if missed:
        return _report_missed(analysis, missed, blocked[0], notes)
    program, first = analysis.program, blocked[0]
    wait, slot = _wait(analysis, first), analysis.sync.slots[first.slot]
    reach = _reach(slot, first.point)
    return diagnose(
        codes.AR301,
        f"{program.call(first.point)}rank {slot.rank} waits for {describe_wait(wait)} "
        f"and sees {first.seen}; all notifies together bring it to {reach}",
        location=program.location(first.point),
        notes=notes,
        counterexample=_show(analysis, [first]),
        help=_hopeless_help(slot, wait),
    )


def _show(analysis: Analysis, blocked: Sequence[Blocked]) -> tuple[Moment, ...]:
    """An execution to where all of `blocked` stand, and their slots hold what they do.

    There is none where they stand behind other waits that are never satisfied.
    """
    reached = analysis.reached
    stand_here = all(one.point.at == reached.limits[one.point.agent] for one in blocked)
    if not stand_here:
        return ()
    schedule = shortest(
        analysis.sync,
        reached,
        [one.point for one in blocked],
        [Demand(one.slot, reached.cells[one.slot]) for one in blocked],
    )
    ending = blocked_moments(analysis, [(one.point, one.seen) for one in blocked])
    return tell(analysis, schedule, ending)


def _reach(slot: Slot, point: Point) -> int:
    waits = zip(slot.waits, slot.reach, strict=True)
    return next(reach for one, reach in waits if one.point == point)


def _hopeless_help(slot: Slot, wait: Wait) -> str:
    if not slot.notifies:
        return "notify this slot, or wait for the slot that the peers do notify"
    if any(one.event.op is NotifyOp.SET for one in slot.notifies):
        return "use pld.NotifyOp.AtomicAdd: a Set replaces the value, it does not add"
    if any(one.event.value < 0 for one in slot.notifies):
        return "lower the slot by what this call's notifies have added to it, no more"
    return f"let the notifies add up to {wait.expected}, or expect less"


def _report_missed(
    analysis: Analysis,
    missed: Sequence[MissedPeer],
    first: Blocked,
    notes: tuple[Note, ...],
) -> Diagnostic:
    program, one = analysis.program, missed[0]
    wait = _wait(analysis, first)
    others = [f"rank {each.rank} leaves out rank {each.peer}" for each in missed[1:]]
    waiting = Note(
        label="waiting",
        text=f"{program.name(first.point.agent)} waits for {describe_wait(wait)} and "
        f"sees {first.seen}",
        location=program.location(first.point),
    )
    also = tuple(Note(label="also", text=text) for text in others)
    return diagnose(
        codes.AR305,
        f"{program.call(first.point)}rank {one.rank} notifies every peer but rank "
        f"{one.peer}, which waits for it for ever",
        location=program.location(one.point),
        notes=(waiting, *also, *notes),
        counterexample=_show(analysis, [first]),
        help="let the loop of notifies reach all peers: step from 1 to NUM_RANKS - 1, "
        "peer = (my_rank + step) % NUM_RANKS",
    )
