"""Which event comes before which in every interleaving.

Each agent keeps its program order. Across agents, a notify comes before a wait on its
slot where it is *necessary*: without it, and without the notifies that come after it
or after the wait, the slot stays below what the wait wants. More order makes more
notifies necessary, so the rule is applied until nothing changes.

The rule finds all the order there is (`Order.exact`) where the necessary notifies of
every wait suffice for it: then the agents may run in any way that respects the order.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from .program import Point
from .replay import Reach
from .slots import Op, Sync

Clock: TypeAlias = Sequence[int]
"""For each agent: how many of its first events come before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The order, as a clock for each agent that changes at its waits."""

    waits: tuple[tuple[int, ...], ...]
    clocks: tuple[tuple[Clock, ...], ...]
    exact: bool

    def clock(self, point: Point) -> Clock:
        """What of other agents comes before `point`."""
        number = bisect.bisect_right(self.waits[point.agent], point.at)
        return self.clocks[point.agent][number]

    def before(self, left: Point, right: Point) -> bool:
        """Whether `left` comes before `right` in every interleaving."""
        if left.agent == right.agent:
            return left.at < right.at
        return left.at < self.clock(right)[left.agent]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sender:
    """One agent's notifies of one slot: where, and how much up to each."""

    ats: list[int]
    sums: list[int]

    def sum_of(self, count: int) -> int:
        """What its first `count` notifies add."""
        return self.sums[count - 1] if count else 0


_Senders: TypeAlias = dict[int, _Sender]


def compute_order(sync: Sync, reached: Reach) -> Order:
    """The order of all events that `reached`, a replay of `sync`, gets to."""
    senders = _senders(sync, reached)
    order = _Pass(sync, reached, senders, None).run()
    while not order.exact:
        again = _Pass(sync, reached, senders, order).run()
        if again.clocks == order.clocks:
            break
        order = again
    return order


def _senders(sync: Sync, reached: Reach) -> list[_Senders]:
    """Who raises each slot; notifies that nobody gets to are left out."""
    found: list[_Senders] = []
    for slot in sync.slots:
        mine: _Senders = {}
        for one, amount in zip(slot.notifies, slot.increments, strict=True):
            agent, at = one.point
            if amount and at < reached.limits[agent]:
                sender = mine.setdefault(agent, _Sender(ats=[], sums=[]))
                sender.sums.append(amount + (sender.sums[-1] if sender.sums else 0))
                sender.ats.append(at)
        found.append(mine)
    return found


class _Pass:
    """One pass over all notifies and waits, in an order in which they can happen."""

    def __init__(
        self,
        sync: Sync,
        reached: Reach,
        senders: list[_Senders],
        known: Order | None,
    ) -> None:
        zero: Clock = (0,) * len(sync.ops)
        self._sync, self._reached, self._senders = sync, reached, senders
        self._known = known  # what the last pass found
        self._now = [zero] * len(sync.ops)
        self._sent: dict[tuple[int, int], Clock] = {}
        self._waits: list[list[int]] = [[] for _ in sync.ops]
        self._clocks: list[list[Clock]] = [[zero] for _ in sync.ops]
        self._exact = True

    def run(self) -> Order:
        done = [0] * len(self._now)
        for agent in self._reached.order:
            op = self._sync.ops[agent][done[agent]]
            done[agent] += 1
            if op.waits:
                self._wait(agent, op)
            else:
                self._sent[agent, op.at] = self._now[agent]
        return Order(
            waits=tuple(map(tuple, self._waits)),
            clocks=tuple(map(tuple, self._clocks)),
            exact=self._exact,
        )

    def _wait(self, agent: int, op: Op) -> None:
        senders = self._senders[op.slot]
        clock = list(self._now[agent])
        for sender, at in self._necessary(agent, op, senders):
            sent = self._sent[sender, at]
            clock = [
                left if left > right else right
                for left, right in zip(clock, sent, strict=True)
            ]
            if clock[sender] <= at:
                clock[sender] = at + 1
        clock[agent] = 0  # its own events are ordered by their numbers
        self._exact = self._exact and _suffice(agent, op, senders, clock)
        self._now[agent] = tuple(clock)
        self._waits[agent].append(op.at)
        self._clocks[agent].append(self._now[agent])

    def _necessary(
        self, agent: int, op: Op, senders: _Senders
    ) -> Iterator[tuple[int, int]]:
        """The last necessary notify of each agent; its earlier ones are so as well."""
        if op.amount <= 0:
            return
        if len(senders) == 1:
            for number, sender in senders.items():
                last = bisect.bisect_left(sender.sums, op.amount)
                if number != agent and last < len(sender.ats):
                    yield number, sender.ats[last]
            return
        counts = {
            number: self._not_after(agent, op, number, one)
            for number, one in senders.items()
        }
        for number, sender in senders.items():
            if number == agent:
                continue
            for index in reversed(range(counts[number])):
                if self._others(number, index, senders, counts) < op.amount:
                    yield number, sender.ats[index]
                    break

    def _not_after(self, agent: int, op: Op, number: int, sender: _Sender) -> int:
        """How many of a sender's notifies need not come after the wait `op`."""
        if number == agent:
            return bisect.bisect_left(sender.ats, op.at)
        return self._count_before(Point(agent, op.at), number, sender)

    def _count_before(self, point: Point, number: int, sender: _Sender) -> int:
        """How many of a sender's notifies are not known to come after `point`."""
        known = self._known
        if known is None:
            return len(sender.ats)
        return bisect.bisect_left(
            sender.ats,
            True,
            key=lambda at: known.clock(Point(number, at))[point.agent] > point.at,
        )

    def _others(
        self, number: int, index: int, senders: _Senders, counts: dict[int, int]
    ) -> int:
        """What the slot can hold without a sender's notify `index`."""
        point = Point(number, senders[number].ats[index])
        total = senders[number].sum_of(index)
        for other, sender in senders.items():
            if other != number:
                after = self._count_before(point, other, sender)
                total += sender.sum_of(min(counts[other], after))
        return total


def _suffice(agent: int, op: Op, senders: _Senders, clock: Clock) -> bool:
    """Whether the notifies that come before the wait `op` are enough for it."""
    total = 0
    for number, sender in senders.items():
        limit = op.at if number == agent else clock[number]
        total += sender.sum_of(bisect.bisect_left(sender.ats, limit))
    return total >= op.amount
