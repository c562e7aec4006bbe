"""A trace made ready for judging: loops made plain, events addressed by points."""

from __future__ import annotations

import bisect
import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

from allreduce_gen.diagnostics import Diagnostic, Location, codes, diagnose
from allreduce_gen.ir.events import Event, Repeat
from allreduce_gen.ir.trace import Agent, AgentTrace, Trace, locate
from allreduce_gen.ir.widen import MAX_EVENTS, TooManyEventsError, flatten


class Point(NamedTuple):
    """One event: the agent's number in the trace, the event's in its plain list."""

    agent: int
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainAgent:
    """One agent's events with no Repeat; `own_index` is each one's place in its list.

    Events that come from one Repeat have its place.
    """

    agent: Agent
    events: tuple[Event, ...]
    own_index: tuple[int, ...]
    call_starts: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """All agents of a trace, made plain; `refused` are loops too long for that."""

    trace: Trace
    agents: tuple[PlainAgent, ...]
    refused: tuple[Diagnostic, ...]

    def event(self, point: Point) -> Event:
        return self.agents[point.agent].events[point.at]

    def rank(self, point: Point) -> int:
        return self.agents[point.agent].agent.rank

    @property
    def has_blocks(self) -> bool:
        """Whether some rank runs several blocks, so that a rank names no agent."""
        return len(self.agents) > self.trace.num_ranks

    def name(self, agent: int) -> str:
        """`rank 1`, or `rank 1 block 0` where ranks run several blocks."""
        one = self.agents[agent].agent
        block = f" block {one.block}" if self.has_blocks else ""
        return f"rank {one.rank}{block}"

    def location(self, point: Point) -> Location:
        """Where the event is, by its place in the agent's own list."""
        one = self.agents[point.agent]
        where = locate(one.agent, one.own_index[point.at], one.events[point.at])
        if not self.has_blocks:
            return where
        return dataclasses.replace(where, block=one.agent.block)

    def call(self, point: Point) -> str:
        """`in call 2, ` where the trace holds several calls, else nothing."""
        one = self.agents[point.agent]
        if len(one.call_starts) == 1:
            return ""
        call = bisect.bisect_right(one.call_starts, one.own_index[point.at])
        return f"in call {call}, "


def prepare(trace: Trace) -> Program:
    """`trace` with its loops made plain."""
    refused: list[Diagnostic] = []
    agents = tuple(_make_plain(one, refused) for one in trace.agents)
    return Program(trace=trace, agents=agents, refused=tuple(refused))


def _make_plain(one: AgentTrace, refused: list[Diagnostic]) -> PlainAgent:
    events: list[Event] = []
    own_index: list[int] = []
    for index, event in enumerate(one.events):
        if not isinstance(event, Repeat):
            events.append(event)
            own_index.append(index)
            continue
        try:
            plain = flatten((event,))
        except TooManyEventsError:
            refused.append(_too_many(one.agent, index, event))
            continue
        events += plain
        own_index += [index] * len(plain)
    return PlainAgent(
        agent=one.agent,
        events=tuple(events),
        own_index=tuple(own_index),
        call_starts=one.call_starts,
    )


def _too_many(agent: Agent, index: int, event: Repeat) -> Diagnostic:
    return diagnose(
        codes.AR309,
        f"a loop of {event.count} rounds is not decided: its rounds depend on each "
        f"other, and unrolled it has more than {MAX_EVENTS} events",
        location=locate(agent, index, event),
        help="let each round work on a tile of its own, side by side with the last one",
    )
