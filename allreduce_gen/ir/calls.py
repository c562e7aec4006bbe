"""Several calls of a program as one trace, so that they can be judged together.

    call 1   x  -> y      data, result, signal
    call 2   x@2 -> y@2   the same windows, as the first call left them

Host memory is another for each call. Windows are kept, as a worker that is prepared
once and not reset keeps them, or made anew.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from .events import Event, Repeat, Tile, with_fields
from .memory import Buffer, Region
from .trace import AgentTrace, Trace


def repeat_calls(trace: Trace, calls: int, *, fresh_windows: bool = False) -> Trace:
    """`trace`, `calls` times in a row: every agent's events one call after another.

    Raises ValueError where `calls` is below 1.
    """
    if calls < 1:
        raise ValueError(f"calls must be at least 1, got {calls}")
    return join_calls((trace,) * calls, fresh_windows=fresh_windows)


def join_calls(traces: Sequence[Trace], *, fresh_windows: bool = False) -> Trace:
    """The calls in `traces`, one after another on the same ranks.

    Use it where calls differ, as with an epoch number that is passed in. All must have
    the same agents; there must be one at least.
    """
    renamed = [
        _rename_call(trace, call, fresh_windows)
        for call, trace in enumerate(traces, start=1)
    ]
    buffers = dict.fromkeys(buffer for trace in renamed for buffer in trace.buffers)
    columns = zip(*(trace.agents for trace in renamed), strict=True)
    return dataclasses.replace(
        renamed[0], buffers=tuple(buffers), agents=tuple(map(_join_agent, columns))
    )


def _join_agent(calls: tuple[AgentTrace, ...]) -> AgentTrace:
    events: list[Event] = []
    starts: list[int] = []
    next_tile = 0
    for one in calls:
        starts.append(len(events))
        ids = [tile.id for event in one.events for tile in _tiles(event)]
        events += [_renumber(event, next_tile) for event in one.events]
        next_tile += max(ids, default=-1) + 1
    return AgentTrace(
        agent=calls[0].agent, events=tuple(events), call_starts=tuple(starts)
    )


def _tiles(event: Event) -> list[Tile]:
    if isinstance(event, Repeat):
        return [tile for inner in event.body for tile in _tiles(inner)]
    names = ("tile", "left", "right", "source")
    return [tile for name in names if (tile := getattr(event, name, None)) is not None]


def _renumber(event: Event, by: int) -> Event:
    if by == 0:
        return event
    if isinstance(event, Repeat):
        body = tuple(_renumber(inner, by) for inner in event.body)
        return dataclasses.replace(event, body=body)
    changes = {
        name: dataclasses.replace(tile, id=tile.id + by)
        for name in ("tile", "left", "right", "source")
        if (tile := getattr(event, name, None)) is not None
    }
    return dataclasses.replace(event, **changes)


def _rename_call(trace: Trace, call: int, fresh_windows: bool) -> Trace:
    """`trace` with the buffers that belong to this call alone renamed after it."""
    if call == 1:
        return trace
    names = {
        buffer: dataclasses.replace(buffer, name=f"{buffer.name}@{call}")
        for buffer in trace.buffers
        if fresh_windows or not buffer.is_window
    }
    return dataclasses.replace(
        trace,
        buffers=tuple(names.get(buffer, buffer) for buffer in trace.buffers),
        agents=tuple(
            dataclasses.replace(
                one, events=tuple(_rename(event, names, call) for event in one.events)
            )
            for one in trace.agents
        ),
    )


def _rename(event: Event, names: dict[Buffer, Buffer], call: int) -> Event:
    if isinstance(event, Repeat):
        body = tuple(_rename(inner, names, call) for inner in event.body)
        return dataclasses.replace(event, body=body)
    changes = {
        name: _rename_region(region, names, call)
        for name in ("region", "slot")
        if (region := getattr(event, name, None)) is not None
        and region.view.buffer in names
    }
    return with_fields(event, changes) if changes else event


def _rename_region(region: Region, names: dict[Buffer, Buffer], call: int) -> Region:
    view = region.view
    renamed = dataclasses.replace(
        view, buffer=names[view.buffer], name=f"{view.name}@{call}"
    )
    return dataclasses.replace(region, view=renamed)
