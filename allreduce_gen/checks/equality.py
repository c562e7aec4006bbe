"""Waits for equality on counters that only rise.

They are replayed as waits for at least as much. The first one whose slot can be higher
before it looks blocks for ever, in the execution that gets the slot there; where none
can, all of them see what they want.
"""

from __future__ import annotations

from collections.abc import Iterator

from allreduce_gen.diagnostics import Diagnostic, codes, diagnose
from allreduce_gen.ir.events import WaitCmp

from .analysis import Analysis
from .counterexample import blocked_moments, tell
from .replay import reach
from .schedules import Demand, shortest
from .slots import Awaited, Slot
from .wording import Site, describe_wait, site_of


def check_equalities(analysis: Analysis) -> Iterator[Diagnostic]:
    """AR306, one finding for each line of equalities that a slot can run past."""
    seen: set[Site] = set()
    for number, slot in enumerate(analysis.sync.slots):
        for wait, threshold in zip(slot.waits, slot.thresholds, strict=True):
            site = site_of(wait.event)
            if wait.event.cmp is not WaitCmp.EQ or slot.doubt or site in seen:
                continue
            highest = _highest_before(analysis, number, wait, threshold)
            if highest > threshold:
                seen.add(site)
                value = highest - threshold + wait.event.expected
                demand = Demand(number, threshold + 1)
                yield _report_equality(analysis, slot, wait, value, demand)


def _highest_before(
    analysis: Analysis, number: int, wait: Awaited, threshold: int
) -> int:
    """The most that the slot's counter can be at while `wait` is about to look.

    The order alone often shows that it is no more than the threshold. A wait that
    nobody gets to sees nothing.
    """
    slot = analysis.sync.slots[number]
    highest = sum(
        amount
        for one, amount in zip(slot.notifies, slot.increments, strict=True)
        if not analysis.order.before(wait.point, one.point)
    )
    if highest > threshold:
        held = reach(analysis.sync, wait.point)
        is_reached = held.limits[wait.point.agent] == wait.point.at
        highest = held.cells[number] if is_reached else 0
    return highest if slot.cap is None else min(highest, slot.cap)


def _report_equality(
    analysis: Analysis, slot: Slot, wait: Awaited, value: int, demand: Demand
) -> Diagnostic:
    program, sync = analysis.program, analysis.sync
    schedule = shortest(sync, reach(sync, wait.point), (wait.point,), (demand,))
    ending = blocked_moments(analysis, [(wait.point, value)])
    return diagnose(
        codes.AR306,
        f"{program.call(wait.point)}rank {slot.rank} waits for "
        f"{describe_wait(wait.event)}, which the slot can run past: it can be at "
        f"{value} before the rank looks",
        location=program.location(wait.point),
        counterexample=tell(analysis, schedule, ending),
        help="wait with pld.WaitCmp.Ge, or give each round its own slot",
    )
