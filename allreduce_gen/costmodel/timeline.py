"""When each event of a trace happens, and which of them the whole time hangs on."""

from __future__ import annotations

from dataclasses import dataclass

from allreduce_gen.ir.events import Event
from allreduce_gen.ir.trace import Agent

from .terms import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedEvent:
    """One event, from `start_s` to `end_s` seconds after the call began.

    `terms` is what it costs; what is left of its time it waited. `cause` is the number,
    in Replay.events, of the event that it could not end before: the one before it on
    its own agent, the notify that let it go, or the transfer that held its port.
    """

    agent: Agent
    event: Event
    start_s: float
    end_s: float
    terms: Terms
    cause: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A whole call: every event in the order in which it was started."""

    events: tuple[TimedEvent, ...]

    @property
    def seconds(self) -> float:
        """From the start to the last rank's last event."""
        return max((one.end_s for one in self.events), default=0.0)

    @property
    def path(self) -> tuple[int, ...]:
        """The numbers of the events that the last one hangs on, first to last."""
        found: list[int] = []
        at = self._last
        while at is not None:
            found.append(at)
            at = self.events[at].cause
        return tuple(reversed(found))

    @property
    def terms(self) -> Terms:
        """What lies on the critical path."""
        return sum((self.events[at].terms for at in self.path), Terms())

    @property
    def total(self) -> Terms:
        """What all events of all ranks cost together."""
        return sum((one.terms for one in self.events), Terms())

    @property
    def _last(self) -> int | None:
        ends = ((one.end_s, number) for number, one in enumerate(self.events))
        return max(ends, default=(0.0, None))[1]
