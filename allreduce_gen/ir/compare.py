"""Whether two traces are the same, up to tile names and source positions."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from .events import Event, Repeat, Tile, event_kind, with_fields
from .memory import format_region
from .trace import Agent, AgentTrace, Trace
from .widen import regions


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Where two traces first part; `index` is None where that is at no event."""

    agent: Agent | None
    index: int | None
    left: str
    right: str


def compare(left: Trace, right: Trace) -> Difference | None:
    """The first difference between two traces, or None where they are the same."""
    for name in ("num_ranks", "platform", "buffers"):
        ours, theirs = getattr(left, name), getattr(right, name)
        if ours != theirs:
            return Difference(
                agent=None, index=None, left=f"{name} {ours}", right=f"{name} {theirs}"
            )
    if len(left.agents) != len(right.agents):
        return Difference(
            agent=None,
            index=None,
            left=f"{len(left.agents)} agents",
            right=f"{len(right.agents)} agents",
        )
    pairs = zip(left.agents, right.agents, strict=True)
    return next(filter(None, (_compare_agents(*pair) for pair in pairs)), None)


def _compare_agents(left: AgentTrace, right: AgentTrace) -> Difference | None:
    ours, theirs = (_canonical(one.events, {}) for one in (left, right))
    for index in range(max(len(ours), len(theirs))):
        if ours[index : index + 1] != theirs[index : index + 1]:
            return Difference(
                agent=left.agent,
                index=index,
                left=_describe(left.events, index),
                right=_describe(right.events, index),
            )
    return None


def _describe(events: tuple[Event, ...], index: int) -> str:
    if index >= len(events):
        return "nothing"
    event = events[index]
    parts = [event_kind(event), *map(format_region, regions(event))]
    slot = getattr(event, "slot", None)
    parts += [] if slot is None else [format_region(slot)]
    for name in ("peer", "value", "expected", "count"):
        if hasattr(event, name):
            parts.append(f"{name}={getattr(event, name)}")
    return " ".join(parts)


def _canonical(events: tuple[Event, ...], names: dict[int, int]) -> tuple[Event, ...]:
    """The events with their tiles numbered in the order of their definition."""
    return tuple(_rename(event, names) for event in events)


def _rename(event: Event, names: dict[int, int]) -> Event:
    if isinstance(event, Repeat):
        return dataclasses.replace(event, body=_canonical(event.body, names))
    changes = {
        name: dataclasses.replace(tile, id=names.setdefault(tile.id, len(names)))
        for name in ("left", "right", "source", "tile")
        if isinstance(tile := getattr(event, name, None), Tile)
    }
    return with_fields(event, changes) if changes else event
