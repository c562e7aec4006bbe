"""Executions as lines to read, made short and proved by replaying them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import assert_never

from allreduce_gen.diagnostics import format_location
from allreduce_gen.ir.events import Event, Wait
from allreduce_gen.ir.memory import format_region
from allreduce_gen.ir.trace import Trace, locate

from .programs import Access, Program, read_trace
from .search import Search
from .verdict import Deadlock, EventId, Order, Race


def explain(trace: Trace, finding: Race | Deadlock) -> tuple[str, ...]:
    """An execution of `trace` that leads to `finding`, a line for each stretch.

    A stretch is what one agent does in a row. The last lines say what meets, or what
    blocks.
    """
    programs = read_trace(trace)
    search = Search(programs, budget=0)
    match finding:
        case Race():
            return _explain_race(programs, search, finding)
        case Deadlock():
            return _explain_deadlock(programs, search, finding)
        case _:
            assert_never(finding)


def simplify(trace: Trace, finding: Race | Deadlock) -> Order:
    """The execution of `finding` in fewer, longer stretches; it leads there as well."""
    programs = read_trace(trace)
    search = Search(programs, budget=0)
    match finding:
        case Race(first=first, second=second, order=order):
            one, _ = _find_access(programs, first)
            other, _ = _find_access(programs, second)
            return _regroup(_shorten(order, (one, other), search), search)
        case Deadlock(order=order):
            return _regroup(order, search)
        case _:
            assert_never(finding)


def _explain_race(
    programs: Sequence[Program], search: Search, race: Race
) -> tuple[str, ...]:
    (one, first), (other, second) = (
        _find_access(programs, event) for event in (race.first, race.second)
    )
    order = _regroup(_shorten(race.order, (one, other), search), search)
    places = " and ".join(
        _place(programs[number], access.index, access.event)
        for number, access in ((one, first), (other, second))
    )
    _, owner = first.memory
    where = format_region(first.event.region)
    memory = where if owner is None else f"{where} of rank {owner}"
    meeting = f"then {places} may come in either order, on {memory}"
    return (*_run_lines(programs, order), meeting)


def _find_access(programs: Sequence[Program], event: EventId) -> tuple[int, Access]:
    agent, index = event
    return next(
        (number, access)
        for number, program in enumerate(programs)
        if program.agent == agent
        for access in itertools.chain.from_iterable(program.segments)
        if access.index == index
    )


def _explain_deadlock(
    programs: Sequence[Program], search: Search, deadlock: Deadlock
) -> tuple[str, ...]:
    order = _regroup(deadlock.order, search)
    state = search.replay(order)
    assert state is not None, "an execution that was found can be replayed"
    lines = []
    for program, place in zip(programs, state[0], strict=True):
        for sync in program.syncs[place : place + 1]:
            wait = sync.event
            assert isinstance(wait, Wait), "nothing but a wait blocks"
            lines.append(
                f"{_place(program, sync.index, wait)} blocks: "
                f"{format_region(wait.slot)} is {search.value(state, sync)}, "
                f"wanted {wait.cmp.value}({wait.expected})"
            )
    return (*_run_lines(programs, order), *lines)


def _shorten(order: Order, meeting: tuple[int, int], search: Search) -> Order:
    """`order` without the last steps that the two agents of `meeting` do not need."""
    for at in reversed(range(len(order))):
        if order[at] not in meeting and order[at] not in order[at + 1 :]:
            shorter = (*order[:at], *order[at + 1 :])
            if search.replay(shorter) is not None:
                order = shorter
    return order


def _regroup(order: Order, search: Search) -> Order:
    """The same steps, each agent going on while it can, the last of `order` first.

    It is `order` itself where that would not lead to the same state.
    """
    left = Counter(reversed(order))
    state, grouped, before = search.start, list[int](), -1
    while before < len(grouped) < len(order):
        before = len(grouped)
        for agent in left:
            while left[agent] and (after := search.step(state, agent)) is not None:
                state = after
                grouped.append(agent)
                left[agent] -= 1
    return tuple(grouped) if state == search.replay(order) else order


def _run_lines(programs: Sequence[Program], order: Order) -> list[str]:
    places = [0] * len(programs)
    lines = []
    for agent, steps in itertools.groupby(order):
        places[agent] += len(tuple(steps))
        last = programs[agent].syncs[places[agent] - 1]
        lines.append(f"run through {_place(programs[agent], last.index, last.event)}")
    return lines


def _place(program: Program, index: int, event: Event) -> str:
    return format_location(locate(program.agent, index, event))
