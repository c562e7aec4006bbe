"""Replays: the canonical one of all events, and quick ones of signals alone.

Where every slot is a rising counter, all interleavings get equally far, so one replay
decides what can be reached. A replay with one agent frozen before an event decides
what can be reached without that event.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import NamedTuple

from allreduce_gen.ir.events import Event, Notify, NotifyOp, Wait, WaitCmp

from .program import Point, Program
from .slots import Sync


class Blocked(NamedTuple):
    """A wait that does not let go: what its slot holds, in vain for ever or not."""

    point: Point
    slot: int
    seen: int
    hopeless: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The canonical order of all events: agents ascending, fewest events first.

    Where nobody can go on, `stalls` says who is blocked, and `stalled_at` after how
    many events. The hopeless waits, or all
    where none is, are then let go, so that every event has a place in `order`.
    """

    order: tuple[Point, ...]
    stamps: tuple[tuple[int, ...], ...]  # of each agent's events: their place in order
    stalls: tuple[tuple[Blocked, ...], ...]
    stalled_at: tuple[int, ...]


class Reach(NamedTuple):
    """How far each agent gets, whose notify or wait comes when, and what slots hold."""

    limits: tuple[int, ...]  # the first event that each agent does not get past
    order: tuple[int, ...]  # agents, one entry for each notify and wait
    cells: tuple[int, ...]  # the counter of each slot in the end


def reach(sync: Sync, *frozen: Point) -> Reach:
    """A replay of `sync` to its end, some agents stopped before a `frozen` event."""
    ops, cells = sync.ops, [0] * len(sync.slots)
    limits = list(sync.ends)
    for point in frozen:
        limits[point.agent] = point.at
    done = [0] * len(ops)
    blocked: dict[int, list[int]] = {}
    order: list[int] = []
    ready = list(range(len(ops)))[::-1]
    while ready:
        agent = ready.pop()
        mine, number, limit = ops[agent], done[agent], limits[agent]
        while number < len(mine):
            at, slot, amount, waits = mine[number]
            if at >= limit:
                break
            if not waits:
                cells[slot] += amount
                if slot in blocked:
                    ready += blocked.pop(slot)
            elif cells[slot] < amount:
                blocked.setdefault(slot, []).append(agent)
                break
            order.append(agent)
            number += 1
        done[agent] = number
    for slot_agents in blocked.values():
        for agent in slot_agents:
            limits[agent] = ops[agent][done[agent]].at
    return Reach(tuple(limits), tuple(order), tuple(cells))


def replay(program: Program, sync: Sync) -> Replay:
    """The canonical replay of `program`, with the slots' true values."""
    return _Canonical(program, sync).run()


class _Canonical:
    """One canonical replay under way."""

    def __init__(self, program: Program, sync: Sync) -> None:
        self._events = [one.events for one in program.agents]
        self._sync = sync
        self._cells = [0] * len(sync.slots)
        self._slots = [{op.at: op.slot for op in mine} for mine in sync.ops]
        self._heap = [(0, agent) for agent in range(len(self._events))]
        self._blocked: dict[int, list[Point]] = {}
        self._released: set[Point] = set()
        self._order: list[Point] = []
        self._stamps: list[list[int]] = [[] for _ in self._events]
        self._stalls: list[tuple[Blocked, ...]] = []
        self._stalled_at: list[int] = []

    def run(self) -> Replay:
        self._advance()
        while self._blocked:
            self._release()
            self._advance()
        return Replay(
            order=tuple(self._order),
            stamps=tuple(map(tuple, self._stamps)),
            stalls=tuple(self._stalls),
            stalled_at=tuple(self._stalled_at),
        )

    def _advance(self) -> None:
        """Run until nobody can go on."""
        heap = self._heap
        while heap:
            at, agent = heap[0]
            events, slots = self._events[agent], self._slots[agent]
            if at == len(events) or (at in slots and self._blocks(agent, at)):
                heapq.heappop(heap)
                continue
            heapq.heapreplace(heap, (at + 1, agent))
            self._stamps[agent].append(len(self._order))
            self._order.append(Point(agent, at))
            if at in slots:
                self._notify(events[at], slots[at])

    def _blocks(self, agent: int, at: int) -> bool:
        """Whether the event is a wait that does not let go now; it is then noted."""
        event, point = self._events[agent][at], Point(agent, at)
        slot = self._slots[agent][at]
        if not isinstance(event, Wait) or self._passes(point, event, slot):
            return False
        self._blocked.setdefault(slot, []).append(point)
        return True

    def _passes(self, point: Point, wait: Wait, slot: int) -> bool:
        return point in self._released or holds(wait, self._cells[slot])

    def _notify(self, event: Event, slot: int) -> None:
        if not isinstance(event, Notify):
            return
        added = event.op is NotifyOp.ATOMIC_ADD
        self._cells[slot] = event.value + (self._cells[slot] if added else 0)
        for point in self._blocked.pop(slot, ()):
            self._resume(point, slot)

    def _resume(self, point: Point, slot: int) -> None:
        """Let a blocked wait look at its slot again."""
        wait = self._events[point.agent][point.at]
        if isinstance(wait, Wait) and self._passes(point, wait, slot):
            # It has seen the value, even if that is gone when its turn comes.
            self._released.add(point)
            heapq.heappush(self._heap, (point.at, point.agent))
        else:
            self._blocked.setdefault(slot, []).append(point)

    def _release(self) -> None:
        """Note the stall, and let go what can never be satisfied (else everybody)."""
        stall = tuple(
            sorted(
                Blocked(point, slot, self._cells[slot], self._is_hopeless(point, slot))
                for slot, points in self._blocked.items()
                for point in points
            )
        )
        self._stalls.append(stall)
        self._stalled_at.append(len(self._order))
        hopeless = [one for one in stall if one.hopeless]
        for one in hopeless or stall:
            self._released.add(one.point)
            self._blocked[one.slot].remove(one.point)
            heapq.heappush(self._heap, (one.point.at, one.point.agent))
        self._blocked = {slot: left for slot, left in self._blocked.items() if left}

    def _is_hopeless(self, point: Point, number: int) -> bool:
        slot = self._sync.slots[number]
        waits = zip(slot.waits, slot.thresholds, strict=True)
        return any(
            threshold > slot.total for wait, threshold in waits if wait.point == point
        )


def holds(wait: Wait, value: int) -> bool:
    """Whether `wait` lets go where its slot holds `value`."""
    if wait.cmp is WaitCmp.EQ:
        return value == wait.expected
    return value >= wait.expected
