"""Interleavings that show a finding, a few lines long.

    1. kernel.py:40: ranks 1, 2 and 3 run through this notify
    2. kernel.py:61, rank 0, event 11 (wait): rank 0 runs through this wait
    3. kernel.py:66, rank 0, event 12 (remote_load): rank 0 reads result[0, 16:32] ...
    4. kernel.py:52, rank 1, event 7 (store): rank 1 writes it only now

What one agent does in a row is one line, and so is what several do alike.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from allreduce_gen.diagnostics import Location, Moment
from allreduce_gen.ir.events import Notify, NotifyOp, Wait, event_kind

from .analysis import Analysis
from .decided import Schedule
from .program import Point
from .replay import holds
from .wording import describe_wait, join_words, name_ranks, site_of

MOST_LINES = 12
"""Lines of one counterexample; what is between the first and the last is left out."""

MOST_FINDINGS = 3
"""Findings of one kind that get a counterexample: the first ones."""


def tell(
    analysis: Analysis, schedule: Schedule, ending: Sequence[Moment]
) -> tuple[Moment, ...]:
    """What happens in `schedule`, and then `ending`; nothing where it cannot happen.

    A schedule may rest on counters that only bound what the slots hold.
    """
    if slot_values(analysis, schedule) is None:
        return ()
    moments = [*_stretches(analysis, schedule), *ending]
    if len(moments) <= MOST_LINES:
        return tuple(moments)
    kept = MOST_LINES // 2
    left_out = len(moments) - 2 * kept + 1
    gap = Moment(text=f"{left_out} more stretches like these")
    return (*moments[: kept - 1], gap, *moments[-kept:])


def blocked_moments(
    analysis: Analysis, blocked: Sequence[tuple[Point, int]]
) -> list[Moment]:
    """The waits that nobody gets past, with what their slots hold, alike ones once."""
    program = analysis.program
    groups: dict[object, list[tuple[Point, int]]] = {}
    for point, seen in blocked:
        groups.setdefault(site_of(program.event(point)), []).append((point, seen))
    moments = []
    for (point, seen), *others in groups.values():
        wait = program.event(point)
        assert isinstance(wait, Wait), "nothing but a wait blocks"
        text = f"{program.name(point.agent)} waits for {describe_wait(wait)} and sees "
        text += f"{seen}, for ever"
        if others:
            ranks = name_ranks(program.rank(other) for other, _ in others)
            text += f"; so {'do' if len(others) > 1 else 'does'} {ranks}"
        moments.append(Moment(text=text, location=program.location(point)))
    return moments


def slot_values(analysis: Analysis, schedule: Schedule) -> dict[int, int] | None:
    """What the slots truly hold after `schedule`, by their numbers; left out is 0.

    It is None where a wait in it would block.
    """
    ops, done = analysis.sync.ops, [0] * len(analysis.sync.ops)
    values: dict[int, int] = {}
    for agent in schedule:
        op = ops[agent][done[agent]]
        done[agent] += 1
        event, value = (
            analysis.program.event(Point(agent, op.at)),
            values.get(op.slot, 0),
        )
        if isinstance(event, Wait) and not holds(event, value):
            return None
        if isinstance(event, Notify):
            adds = event.op is NotifyOp.ATOMIC_ADD
            values[op.slot] = event.value + (value if adds else 0)
    return values


def _stretches(analysis: Analysis, schedule: Schedule) -> list[Moment]:
    ops, done = analysis.sync.ops, [0] * len(analysis.sync.ops)
    ends: list[Point] = []
    for agent, steps in itertools.groupby(schedule):
        done[agent] += len(list(steps))
        ends.append(Point(agent, ops[agent][done[agent] - 1].at))
    return [
        _moment(analysis, list(alike))
        for _, alike in itertools.groupby(
            ends, key=lambda end: site_of(analysis.program.event(end))
        )
    ]


def _moment(analysis: Analysis, ends: list[Point]) -> Moment:
    """Agents that all run through the same line."""
    program = analysis.program
    kind = event_kind(program.event(ends[0]))
    agents = sorted({end.agent for end in ends})
    text = f"{_name(analysis, agents)} {'run' if len(agents) > 1 else 'runs'} through "
    where = program.location(ends[-1])
    if len(agents) > 1:
        where = Location(file=where.file, line=where.line, step=where.step)
    return Moment(text=f"{text}this {kind}", location=where)


def _name(analysis: Analysis, agents: list[int]) -> str:
    program = analysis.program
    if program.has_blocks:
        return join_words([program.name(agent) for agent in agents])
    return name_ranks(program.agents[agent].agent.rank for agent in agents)
