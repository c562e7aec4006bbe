"""Executions that lead to one place, and no further than need be."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .decided import Schedule
from .program import Point
from .replay import Reach
from .slots import Op, Sync


class Demand(NamedTuple):
    """That the counter of a slot be `amount` at least."""

    slot: int
    amount: int


class _Notified(NamedTuple):
    place: int  # in the execution that is cut down
    agent: int
    number: int  # among the agent's ops
    amount: int


def signals_before(sync: Sync, point: Point) -> int:
    """How many notifies and waits its agent passes before `point`."""
    return bisect.bisect_left(sync.ops[point.agent], point.at, key=lambda op: op.at)


def shortest(
    sync: Sync, reached: Reach, points: Iterable[Point], demands: Iterable[Demand] = ()
) -> Schedule:
    """A part of the execution `reached` that gets right before each of `points`.

    It also meets `demands`. The last agent of `points` runs after the others where it
    can.
    """
    cut = _Cut(sync, reached)
    last: list[int] = []
    for point in points:
        cut.extend(point.agent, signals_before(sync, point))
        last.append(point.agent)
    for slot, amount in demands:
        cut.supply(slot, amount, len(reached.order))
    cut.close()
    return tuple(_run(sync, cut.needed, last))


class _Cut:
    """How many ops of each agent are needed: `needed`, closed under what waits want."""

    def __init__(self, sync: Sync, reached: Reach) -> None:
        self._ops = sync.ops
        self.needed = [0] * len(sync.ops)
        self._waits: list[tuple[int, int]] = []
        self._places: list[list[int]] = [[] for _ in sync.ops]
        self._notified: dict[int, list[_Notified]] = {}
        for place, agent in enumerate(reached.order):
            number = len(self._places[agent])
            self._places[agent].append(place)
            op = sync.ops[agent][number]
            if not op.waits:
                one = _Notified(place, agent, number, op.amount)
                self._notified.setdefault(op.slot, []).append(one)

    def extend(self, agent: int, count: int) -> None:
        """Let `agent` pass its first `count` ops."""
        for number in range(self.needed[agent], count):
            if self._ops[agent][number].waits:
                self._waits.append((agent, number))
        self.needed[agent] = max(self.needed[agent], count)

    def supply(self, slot: int, amount: int, before: int) -> None:
        """Let notifies that come before place `before` raise `slot` to `amount`."""
        earlier = [one for one in self._notified.get(slot, ()) if one.place < before]
        total = sum(
            one.amount for one in earlier if one.number < self.needed[one.agent]
        )
        for one in earlier:
            if total >= amount:
                return
            if one.number >= self.needed[one.agent]:
                self.extend(one.agent, one.number + 1)
                total += one.amount

    def close(self) -> None:
        while self._waits:
            agent, number = self._waits.pop()
            op = self._ops[agent][number]
            self.supply(op.slot, op.amount, self._places[agent][number])


def _run(sync: Sync, needed: list[int], last: list[int]) -> Iterator[int]:
    """The needed ops in few stretches: each agent goes on while it can."""
    agents = [agent for agent in range(len(needed)) if agent not in last] + last
    cells, done = [0] * len(sync.slots), [0] * len(needed)
    goes_on = True
    while goes_on:
        goes_on = False
        for agent in agents:
            while done[agent] < needed[agent]:
                op = sync.ops[agent][done[agent]]
                if not _passes(op, cells):
                    break
                yield agent
                done[agent] += 1
                goes_on = True


def _passes(op: Op, cells: list[int]) -> bool:
    """Whether `op` can happen; a notify changes `cells`."""
    if op.waits:
        return cells[op.slot] >= op.amount
    cells[op.slot] += op.amount
    return True
