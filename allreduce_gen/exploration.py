"""What checks alone cannot decide, decided by a search of all executions.

Slots that are no rising counters (a shared Set, a slot that a peer lowers) may depend
on the interleaving. For few ranks all of them are searched; where that ends within a
budget, its verdict stands in place of AR309.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from .checks import Collective, Decided, Meeting, Point, check_trace, check_unknown
from .diagnostics import Diagnostic, Note, codes
from .engines.judge import Verdict, judge, simplify
from .ir.trace import Trace
from .ir.widen import TooManyEventsError

MOST_RANKS = 4
"""Ranks beyond which executions are not searched."""

BUDGET = 100_000
"""States that one search may look at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explored:
    """What a trace computes, None where that is not known, and all that was found."""

    collective: Collective | None
    findings: tuple[Diagnostic, ...]


def check_and_explore(
    trace: Trace, *, collective: Collective | None = None, alike_calls: bool = False
) -> Explored:
    """All findings about `trace`, searched exhaustively where checks cannot decide.

    What it computes is recognised, unless `collective` says; `alike_calls` is as for
    `check_trace`.
    """
    check = partial(_check, trace, collective, alike_calls)
    explored = check(None)
    findings = explored.findings
    if all(one.code is not codes.AR309 for one in findings):
        return explored
    if trace.num_ranks > MOST_RANKS:
        why = f"executions are searched for up to {MOST_RANKS} ranks"
        return replace(explored, findings=_with_note(findings, why))
    try:
        verdict = judge(trace, budget=BUDGET)
    except TooManyEventsError:
        return explored
    if verdict.undecided:
        return replace(explored, findings=_with_note(findings, verdict.undecided[0]))
    return check(_decide(trace, verdict))


def _check(
    trace: Trace,
    collective: Collective | None,
    alike_calls: bool,
    decided: Decided | None,
) -> Explored:
    if collective is None:
        found, findings = check_unknown(trace, decided=decided, alike_calls=alike_calls)
        return Explored(collective=found, findings=findings)
    findings = check_trace(
        trace, collective=collective, decided=decided, alike_calls=alike_calls
    )
    return Explored(collective=collective, findings=findings)


def _with_note(findings: tuple[Diagnostic, ...], why: str) -> tuple[Diagnostic, ...]:
    note = Note(label="not searched", text=why)
    return tuple(
        replace(one, notes=(*one.notes, note)) if one.code is codes.AR309 else one
        for one in findings
    )


def _decide(trace: Trace, verdict: Verdict) -> Decided:
    """The verdict, with agents by their numbers in `trace`."""
    numbers = {one.agent: number for number, one in enumerate(trace.agents)}
    deadlock = verdict.deadlock
    return Decided(
        races=tuple(
            Meeting(
                left=Point(numbers[race.first[0]], race.first[1]),
                right=Point(numbers[race.second[0]], race.second[1]),
                schedule=simplify(trace, race),
            )
            for race in verdict.races
        ),
        blocked=()
        if deadlock is None
        else tuple(Point(numbers[agent], at) for agent, at in deadlock.blocked),
        schedule=() if deadlock is None else simplify(trace, deadlock),
    )
