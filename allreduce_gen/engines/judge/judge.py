"""Does any execution deadlock, and do two conflicting accesses ever meet?

Two accesses race where some execution leads to a state in which both are next. That is
the definition, and it is what is searched for. An execution is an order in which agents
pass their notifies and waits: nothing else orders agents. Programs without a race in
this sense behave as if every store were visible at once, so that stores need no states
of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from allreduce_gen.diagnostics import format_location
from allreduce_gen.ir.trace import Trace, locate

from .conflicts import Meeting, find_conflicts, stores_to_slots
from .programs import Access, Program, read_trace
from .search import BudgetSpentError, Search
from .verdict import Deadlock, Order, Race, Verdict

DEFAULT_BUDGET = 100_000
"""States that a judgement may look at."""


def judge(trace: Trace, *, budget: int = DEFAULT_BUDGET) -> Verdict:
    """Search all executions of `trace`, whose accesses lie within their buffers.

    Where the order of signals makes no difference, as with slots that only grow, this
    takes few states at any number of ranks. Elsewhere they multiply, and the trace
    should be small (4 ranks); a search that `budget` cuts short says so.

    Raises TooManyEventsError for loops too long to unroll.
    """
    programs = read_trace(trace)
    search = Search(programs, budget)
    undecided = [_unknown_value(*store) for store in stores_to_slots(programs)]
    races: list[Race] = []
    deadlock = None
    try:
        deadlock = _find_deadlock(programs, search)
        for found in _find_races(programs, search):
            races.append(found)
    except BudgetSpentError:
        undecided.append(f"the budget of {budget} states ran out")
    return Verdict(
        races=tuple(races),
        deadlock=deadlock,
        num_states=search.num_states,
        undecided=tuple(undecided),
    )


def _unknown_value(program: Program, access: Access) -> str:
    location = format_location(locate(program.agent, access.index, access.event))
    return f"{location} writes a signal slot, and its value is not known"


def _find_deadlock(programs: Sequence[Program], search: Search) -> Deadlock | None:
    ends = search.ends
    order = search.find(ends, lambda places, is_stuck: is_stuck and places != ends)
    if order is None:
        return None
    return Deadlock(
        order=order,
        blocked=tuple(
            (program.agent, program.syncs[order.count(number)].index)
            for number, program in enumerate(programs)
            if order.count(number) < len(program.syncs)
        ),
    )


def _find_races(programs: Sequence[Program], search: Search) -> Iterator[Race]:
    for meeting, pairs in find_conflicts(programs).items():
        order = None if _are_apart(meeting, search) else _find_meeting(meeting, search)
        if order is not None:
            one, other = (programs[number].agent for number in (meeting[0], meeting[2]))
            for first, second in pairs:
                yield Race(
                    first=(one, first.index), second=(other, second.index), order=order
                )


def _are_apart(meeting: Meeting, search: Search) -> bool:
    """Whether one agent cannot get to its segment while the other has not left its own.

    This saves most searches: what it says of an agent that is held serves many pairs.
    """
    one, one_place, other, other_place = meeting
    return (
        search.furthest_with(one, one_place)[other] < other_place
        or search.furthest_with(other, other_place)[one] < one_place
    )


def _find_meeting(meeting: Meeting, search: Search) -> Order | None:
    """An execution to where both agents are in their segments, or None."""
    one, one_place, other, other_place = meeting
    limits = list(search.ends)
    limits[one], limits[other] = one_place, other_place
    return search.find(
        tuple(limits),
        lambda places, _: (places[one], places[other]) == (one_place, other_place),
    )
