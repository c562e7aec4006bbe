"""A trace: every agent's events, in program order."""

from __future__ import annotations

from dataclasses import dataclass

from allreduce_gen.diagnostics import Location

from .events import Event, event_kind
from .memory import Buffer


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """Who runs a list of events: one block of one rank."""

    rank: int
    block: int = 0

    def __str__(self) -> str:
        return f"rank {self.rank}" + (f" block {self.block}" if self.block else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTrace:
    """One agent's events, in program order.

    `call_starts` says where each call of the program begins in them.
    """

    agent: Agent
    events: tuple[Event, ...]
    call_starts: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What all agents of `num_ranks` ranks do in one call, and the memory they use.

    `platform` names the target whose limits hold. `agents` ascend by rank, then block.
    """

    num_ranks: int
    platform: str
    buffers: tuple[Buffer, ...]
    agents: tuple[AgentTrace, ...]


def locate(agent: Agent, index: int, event: Event) -> Location:
    """Where `event`, the agent's event number `index`, is."""
    origin = event.origin
    return Location(
        file=origin.file,
        line=origin.line,
        step=origin.step,
        rank=agent.rank,
        event=index,
        kind=event_kind(event),
    )
