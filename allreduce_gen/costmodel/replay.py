"""Discrete-event replay: what every rank of a trace does when, by a cost model.

An agent does one event after another. A transfer is synchronous and takes its own
rank's port for as long as its bytes need; where `charges_source` says so, the peer's
port too, so that ranks which read the same peer at once queue there:

    rank 1  |==== reads 0 ====|                          one port a reader: all at once
    rank 2  |==== reads 0 ====|
    rank 1  |==== reads 0 ====|                          the source's too: in turn
    rank 2  .................. |==== reads 0 ====|

A rank can send and receive at the same time. The first transfer after a wait, or of the
call, opens a round and pays its latency; more of them in the same round overlap with
that. A wait lets go when the notifies that have ended raise its slot far enough.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass
from typing import TypeAlias

from allreduce_gen.ir.events import (
    Event,
    Notify,
    NotifyOp,
    RemoteLoad,
    RemoteStore,
    Wait,
    WaitCmp,
)
from allreduce_gen.ir.memory import Region, region_bytes
from allreduce_gen.ir.trace import Agent, Trace
from allreduce_gen.ir.widen import flatten

from .charging import charge, is_transfer
from .model import CostModel
from .terms import Terms
from .timeline import Replay, TimedEvent

_Slot: TypeAlias = tuple[int, str, int]
"""A rank, a buffer and a byte in it."""

_Port: TypeAlias = tuple[int, str]
"""A rank and a direction."""


@dataclass(slots=True, kw_only=True)
class _Runner:
    """One agent on its way; `last` is the number of its latest event."""

    agent: Agent
    events: tuple[Event, ...]
    at: int = 0
    clock: float = 0.0
    last: int | None = None
    opens_round: bool = True


def replay(trace: Trace, model: CostModel, *, charges_source: bool = False) -> Replay:
    """All events of `trace` in time.

    Raises ValueError where it deadlocks, TooManyEventsError as `flatten` does.
    """
    return _Replayer(trace, model, charges_source).run()


class _Replayer:
    """The state of one replay: clocks, slots, ports, and what has happened."""

    def __init__(self, trace: Trace, model: CostModel, charges_source: bool) -> None:
        self._model = model
        self._charges_source = charges_source
        self._runners = [
            _Runner(agent=one.agent, events=flatten(one.events)) for one in trace.agents
        ]
        self._queue = [(0.0, number) for number in range(len(self._runners))]
        self._slots: dict[_Slot, int] = defaultdict(int)
        self._blocked: dict[_Slot, list[int]] = defaultdict(list)
        self._ports: dict[_Port, tuple[float, int | None]] = {}
        self._done: list[TimedEvent] = []

    def run(self) -> Replay:
        while self._queue:
            _, number = heapq.heappop(self._queue)
            self._continue(number)
        if stuck := [one.agent for one in self._runners if one.at < len(one.events)]:
            raise ValueError(f"the trace deadlocks: {stuck[0]} waits for ever")
        return Replay(events=tuple(self._done))

    def _continue(self, number: int) -> None:
        """Let the notify that has just ended take effect, then start the next event."""
        runner = self._runners[number]
        if runner.last is not None and runner.at:
            self._settle(runner.events[runner.at - 1], runner)
        if runner.at == len(runner.events):
            return
        event = runner.events[runner.at]
        if isinstance(event, Wait):
            self._wait(number, runner, event)
        else:
            self._perform(runner, event)
            heapq.heappush(self._queue, (runner.clock, number))

    def _perform(self, runner: _Runner, event: Event) -> None:
        rank = runner.agent.rank
        terms = charge(event, rank, opens_round=runner.opens_round)
        cause, start = runner.last, runner.clock
        end = start + terms.seconds(self._model)
        if is_transfer(event, rank):
            runner.opens_round = False
            end, cause = self._occupy(self._route(event, rank), end, terms, cause)
        self._record(runner, event, end, terms, cause)

    def _occupy(
        self, ports: list[_Port], end: float, terms: Terms, cause: int | None
    ) -> tuple[float, int | None]:
        """When a transfer that could end at `end` does, and what it hung on."""
        took = terms.remote_bytes * self._model.beta_s_per_byte
        for port in ports:
            free, holder = self._ports.get(port, (0.0, None))
            if free > end - took:
                end, cause = free + took, holder
        for port in ports:
            self._ports[port] = end, len(self._done)
        return end, cause

    def _route(self, event: Event, rank: int) -> list[_Port]:
        """The ports that a transfer takes: its rank's, and on request the peer's."""
        assert isinstance(event, RemoteLoad | RemoteStore)
        own, other = ("in", "out") if isinstance(event, RemoteLoad) else ("out", "in")
        charged = [(rank, own), (event.peer, other)]
        return charged if self._charges_source else charged[:1]

    def _wait(self, number: int, runner: _Runner, event: Wait) -> None:
        slot = _slot(runner.agent.rank, event.slot)
        if not _lets_go(event, self._slots[slot]):
            self._blocked[slot].append(number)
            return
        runner.opens_round = True
        self._record(runner, event, runner.clock, Terms(), runner.last)
        heapq.heappush(self._queue, (runner.clock, number))

    def _settle(self, event: Event, runner: _Runner) -> None:
        """Change the slot that a notify names, and let go whoever waited for that."""
        if not isinstance(event, Notify):
            return
        slot = _slot(event.peer, event.slot)
        adds = event.op is NotifyOp.ATOMIC_ADD
        self._slots[slot] = event.value + (self._slots[slot] if adds else 0)
        for number in self._blocked.pop(slot, ()):
            self._try_again(number, slot, runner)

    def _try_again(self, number: int, slot: _Slot, notifier: _Runner) -> None:
        waiter = self._runners[number]
        event = waiter.events[waiter.at]
        assert isinstance(event, Wait)
        if not _lets_go(event, self._slots[slot]):
            self._blocked[slot].append(number)
            return
        waiter.opens_round = True
        self._record(waiter, event, notifier.clock, Terms(), notifier.last)
        heapq.heappush(self._queue, (waiter.clock, number))

    def _record(
        self,
        runner: _Runner,
        event: Event,
        end: float,
        terms: Terms,
        cause: int | None,
    ) -> None:
        self._done.append(
            TimedEvent(
                agent=runner.agent,
                event=event,
                start_s=runner.clock,
                end_s=end,
                terms=terms,
                cause=cause,
            )
        )
        runner.clock, runner.last = end, len(self._done) - 1
        runner.at += 1


def _slot(rank: int, region: Region) -> _Slot:
    return rank, region.view.buffer.name, region_bytes(region).start


def _lets_go(wait: Wait, value: int) -> bool:
    if wait.cmp is WaitCmp.EQ:
        return value == wait.expected
    return value >= wait.expected
