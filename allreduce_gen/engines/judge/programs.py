"""A trace as the judge sees it: signals in order, and the accesses between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from allreduce_gen.ir.events import (
    Load,
    Notify,
    RemoteLoad,
    RemoteStore,
    Store,
    Wait,
)
from allreduce_gen.ir.memory import ByteRuns, Region, region_bytes
from allreduce_gen.ir.trace import Agent, AgentTrace, Trace
from allreduce_gen.ir.widen import flatten

Memory: TypeAlias = tuple[str, int | None]
"""A buffer's name, and the rank whose window it is; None for host memory."""

Slot: TypeAlias = tuple[str, int, int]
"""A signal's buffer, the rank that holds it, and the cell's first byte."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sync:
    """A notify or a wait; `index` counts the agent's plain events."""

    index: int
    slot: Slot
    event: Notify | Wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One event's touch of memory."""

    index: int
    event: Load | Store | RemoteLoad | RemoteStore
    memory: Memory
    runs: ByteRuns

    @property
    def writes(self) -> bool:
        return isinstance(self.event, Store | RemoteStore)

    @property
    def is_atomic(self) -> bool:
        return isinstance(self.event, Store | RemoteStore) and self.event.atomic


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """An agent's signals, and its accesses before, between and after them.

    An agent that has passed k signals is in `segments[k]`. Nothing orders it against
    its peers there, so that all accesses of a segment stand or fall together.
    """

    agent: Agent
    syncs: tuple[Sync, ...]
    segments: tuple[tuple[Access, ...], ...]


def read_trace(trace: Trace) -> tuple[Program, ...]:
    """One Program an agent. Raises TooManyEventsError for loops too long to unroll."""
    return tuple(_read_agent(agent) for agent in trace.agents)


def _read_agent(trace: AgentTrace) -> Program:
    syncs: list[Sync] = []
    segments: list[list[Access]] = [[]]
    for index, event in enumerate(flatten(trace.events)):
        match event:
            case Notify(peer=holder, slot=cell):
                syncs.append(_sync(index, event, holder, cell))
                segments.append([])
            case Wait(slot=cell):
                syncs.append(_sync(index, event, trace.agent.rank, cell))
                segments.append([])
            case Load() | Store() | RemoteLoad() | RemoteStore():
                segments[-1].append(_access(index, event, trace.agent.rank))
    return Program(
        agent=trace.agent,
        syncs=tuple(syncs),
        segments=tuple(tuple(segment) for segment in segments),
    )


def _sync(index: int, event: Notify | Wait, holder: int, cell: Region) -> Sync:
    slot = (cell.view.buffer.name, holder, region_bytes(cell).start)
    return Sync(index=index, slot=slot, event=event)


def _access(
    index: int, event: Load | Store | RemoteLoad | RemoteStore, rank: int
) -> Access:
    owner = event.peer if isinstance(event, RemoteLoad | RemoteStore) else rank
    buffer = event.region.view.buffer
    return Access(
        index=index,
        event=event,
        memory=(buffer.name, owner if buffer.is_window else None),
        runs=region_bytes(event.region),
    )
