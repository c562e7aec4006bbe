"""One agent at work: its place in its events, its tiles, and what it has counted."""

from __future__ import annotations

import enum
from typing import assert_never

from allreduce_gen.engines.base import Counters
from allreduce_gen.ir.events import (
    Event,
    Notify,
    RemoteLoad,
    RemoteStore,
    Wait,
    WaitCmp,
)
from allreduce_gen.ir.memory import Region
from allreduce_gen.ir.trace import Agent

from .memory import instance_of
from .port import Port
from .vector_unit import VectorUnit


class Status(enum.Enum):
    """Whether a machine can go on."""

    READY = "ready"
    BLOCKED = "blocked"
    DONE = "done"


class Machine:
    """Runs the plain events of `agent` one after another, on memory behind `port`."""

    def __init__(self, agent: Agent, events: tuple[Event, ...], port: Port) -> None:
        self.agent = agent
        self._events = events
        self._at = 0
        self._port = port
        self._unit = VectorUnit(agent.rank, events, port)

    def advance(self, num_events: int) -> Status:
        """Run up to `num_events` events, and stop before a wait that must block."""
        for _ in range(num_events):
            if self._at == len(self._events):
                return Status.DONE
            event = self._events[self._at]
            match event:
                case Wait():
                    if not self._lets_go(event):
                        return Status.BLOCKED
                case Notify():
                    self._notify(event)
                case _:
                    self._unit.execute(self._at, event)
            self._at += 1
        return Status.READY

    def publish(self) -> None:
        """Let everybody see all stores so far."""
        self._port.publish()

    def blocked_at(self) -> tuple[int, Wait, int]:
        """The wait before which a blocked machine stands: its index, and what it sees.

        Call it only where `advance` has returned BLOCKED.
        """
        wait = self._events[self._at]
        assert isinstance(wait, Wait)
        return self._at, wait, self._seen(wait.slot)

    def _notify(self, event: Notify) -> None:
        instance = instance_of(event.slot.view.buffer, event.peer)
        self._port.notify(instance, event.slot, event.value, event.op)

    def _lets_go(self, wait: Wait) -> bool:
        return lets_go(wait, self._seen(wait.slot))

    def _seen(self, slot: Region) -> int:
        instance = instance_of(slot.view.buffer, self.agent.rank)
        return self._port.poll(instance, slot)


def lets_go(wait: Wait, seen: int) -> bool:
    """Whether `wait` ends where its slot holds `seen`."""
    match wait.cmp:
        case WaitCmp.EQ:
            return seen == wait.expected
        case WaitCmp.GE:
            return seen >= wait.expected
        case _:
            assert_never(wait.cmp)


def count(events: tuple[Event, ...], rank: int) -> Counters:
    """What an agent of `rank` has done once all of `events` have run."""
    return Counters(
        events=len(events),
        notifies=sum(isinstance(event, Notify) for event in events),
        waits=sum(isinstance(event, Wait) for event in events),
        remote_bytes=sum(
            event.region.num_elems * event.region.view.dtype.nbytes
            for event in events
            if isinstance(event, RemoteLoad | RemoteStore) and event.peer != rank
        ),
    )
