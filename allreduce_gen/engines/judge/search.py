"""What agents can reach by passing their signals in every possible order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from allreduce_gen.ir.events import Notify, NotifyOp, Wait

from .commute import commutes, lets_go
from .programs import Program, Sync
from .verdict import Order

Places: TypeAlias = tuple[int, ...]
"""How many signals each agent has passed."""

State: TypeAlias = tuple[Places, tuple[int, ...]]
"""The agents' places, and the values of all slots."""


class BudgetSpentError(Exception):
    """The search has seen as many states as it may."""


class Search:
    """Explores the states of `programs`, `budget` of them in all its searches."""

    def __init__(self, programs: Sequence[Program], budget: int) -> None:
        self._programs = programs
        self._budget = budget
        self.num_states = 0
        self._with_held: dict[tuple[int, int], Places] = {}
        self._slots = {
            slot: number
            for number, slot in enumerate(
                dict.fromkeys(s.slot for p in programs for s in p.syncs)
            )
        }
        self._users: list[list[tuple[int, int, Sync]]] = [[] for _ in self._slots]
        for agent, program in enumerate(programs):
            for place, sync in enumerate(program.syncs):
                self._users[self._slots[sync.slot]].append((agent, place, sync))

        self._is_added = [
            all(_adds(sync.event) for _, _, sync in users) for users in self._users
        ]

    @property
    def ends(self) -> Places:
        """Where every agent has passed all its signals."""
        return tuple(len(program.syncs) for program in self._programs)

    def find(
        self, limits: Places, is_wanted: Callable[[Places, bool], bool]
    ) -> Order | None:
        """An execution to a wanted state, in which no agent passes its limit, or None.

        `is_wanted` is given the places, and whether no agent can go on. It must stay
        true once it is, unless it asks for the latter.

        Raises BudgetSpentError.
        """
        start = self.start
        came_from: dict[State, tuple[State, int] | None] = {start: None}
        stack = [start]
        while stack:
            state = stack.pop()
            moves = self._moves(state, limits)
            if is_wanted(state[0], not moves):
                return _trace_back(came_from, state)
            for agent, after in moves:
                if after not in came_from:
                    self._count()
                    came_from[after] = state, agent
                    stack.append(after)
        return None

    def furthest_with(self, agent: int, place: int) -> Places:
        """How far each agent gets in any execution in which `agent` stops at `place`.

        Raises BudgetSpentError.
        """
        known = self._with_held.get((agent, place))
        if known is None:
            limits = (*self.ends[:agent], place, *self.ends[agent + 1 :])
            highest = list(self.start[0])

            def note(places: Places, is_stuck: bool) -> bool:
                if is_stuck:
                    highest[:] = map(max, highest, places)
                return False

            self.find(limits, note)
            known = self._with_held[agent, place] = tuple(highest)
        return known

    def replay(self, order: Order) -> State | None:
        """The state after `order`, or None where a wait in it would block."""
        state = self.start
        for agent in order:
            after = self.step(state, agent)
            if after is None:
                return None
            state = after
        return state

    def value(self, state: State, sync: Sync) -> int:
        """What the slot of `sync` holds in `state`."""
        return state[1][self._slots[sync.slot]]

    @property
    def start(self) -> State:
        """Nobody has passed a signal, and all slots are zero."""
        return (0,) * len(self._programs), (0,) * len(self._slots)

    def _count(self) -> None:
        self.num_states += 1
        if self.num_states > self._budget:
            raise BudgetSpentError

    def _moves(self, state: State, limits: Places) -> list[tuple[int, State]]:
        """The steps to explore from `state`: one that commutes with all others, or all.

        A step that commutes with whatever other agents may still do can be taken first
        in every execution that takes it, and added to every one that does not.
        """
        steps = []
        for agent, place in enumerate(state[0]):
            after = self.step(state, agent) if place < limits[agent] else None
            if after is None:
                continue
            if self._commutes_with_others(state, agent, limits):
                return [(agent, after)]
            steps.append((agent, after))
        return steps

    def step(self, state: State, agent: int) -> State | None:
        """`state` after the agent's next signal, or None where that wait blocks."""
        places, values = state
        sync = self._programs[agent].syncs[places[agent]]
        number = self._slots[sync.slot]
        match sync.event:
            case Wait() as wait if not lets_go(wait, values[number]):
                return None
            case Notify(op=NotifyOp.SET, value=value):
                values = (*values[:number], value, *values[number + 1 :])
            case Notify(value=value):
                raised = values[number] + value
                values = (*values[:number], raised, *values[number + 1 :])
        passed = (*places[:agent], places[agent] + 1, *places[agent + 1 :])
        return passed, values

    def _commutes_with_others(self, state: State, agent: int, limits: Places) -> bool:
        """Whether the next step of `agent` commutes with all that others may do first.

        What they cannot get to while `agent` stands still does not come first.
        """
        places, values = state
        sync = self._programs[agent].syncs[places[agent]]
        number = self._slots[sync.slot]
        against = [
            (user, place)
            for user, place, other in self._users[number]
            if user != agent
            and places[user] <= place < limits[user]
            and not commutes(sync.event, other.event, values[number])
        ]
        if not against:
            return True
        held = (*limits[:agent], places[agent], *limits[agent + 1 :])
        furthest = self._furthest(state, held)
        return all(place >= furthest[user] for user, place in against)

    def _furthest(self, state: State, limits: Places) -> list[int]:
        """Places that no agent gets past from `state`.

        Slots are taken to hold the most that anybody may have made of them; lowered
        are they for whoever has lowered them itself.
        """
        places, bounds = list(state[0]), _Bounds(list(state[1]), self._is_added)
        goes_on = True
        while goes_on:
            goes_on = False
            for agent, program in enumerate(self._programs):
                while places[agent] < limits[agent]:
                    sync = program.syncs[places[agent]]
                    if not bounds.let(agent, sync.event, self._slots[sync.slot]):
                        break
                    places[agent] += 1
                    goes_on = True
        return places


def _adds(event: Notify | Wait) -> bool:
    """Whether it is no Set."""
    return isinstance(event, Wait) or event.op is NotifyOp.ATOMIC_ADD


class _Bounds:
    """The most that slots may hold, as seen by each agent."""

    def __init__(self, highest: list[int], is_added: Sequence[bool]) -> None:
        self._highest, self._is_added = highest, is_added
        self._lowered: dict[tuple[int, int], int] = {}

    def let(self, agent: int, event: Notify | Wait, number: int) -> bool:
        """Whether the agent's signal may happen; a notify moves the bounds."""
        match event:
            case Wait(expected=expected):
                lowered = self._lowered.get((agent, number), 0)
                return self._highest[number] + lowered >= expected
            case Notify(op=NotifyOp.SET, value=value):
                self._highest[number] = max(self._highest[number], value)
            case Notify(value=value) if value >= 0:
                self._highest[number] += value
            case Notify(value=value) if self._is_added[number]:
                lowered = self._lowered.get((agent, number), 0)
                self._lowered[agent, number] = lowered + value
        return True


def _trace_back(
    came_from: dict[State, tuple[State, int] | None], state: State
) -> Order:
    order: list[int] = []
    while (step := came_from[state]) is not None:
        state, agent = step
        order.append(agent)
    return tuple(reversed(order))
