"""Several calls as one trace."""

from __future__ import annotations

import pytest

from allreduce_gen.ir.calls import join_calls, repeat_calls
from allreduce_gen.ir.events import Load, Notify, Repeat, Store
from allreduce_gen.ir.expand import expand
from allreduce_gen.planner import make_plan
from allreduce_gen.spec import AllReduceSpec


def _trace(size: int = 64):
    return expand(make_plan(AllReduceSpec(num_ranks=2, size=size)))


def test_host_memory_is_renamed_and_windows_are_kept() -> None:
    once = _trace()
    twice = repeat_calls(once, 2)
    assert [buffer.name for buffer in twice.buffers] == [
        *(buffer.name for buffer in once.buffers),
        "x@2",
        "y@2",
    ]
    length = len(once.agents[0].events)
    for agent in twice.agents:
        assert agent.call_starts == (0, length)
        assert len(agent.events) == 2 * length
    first, second = (twice.agents[0].events[at] for at in (0, length))
    assert isinstance(first, Load)
    assert isinstance(second, Load)
    assert (first.region.view.name, second.region.view.name) == ("x", "x@2")
    windows = {
        event.slot.view.buffer.name
        for event in twice.agents[0].events
        if isinstance(event, Notify)
    }
    assert windows == {"signal"}


def test_fresh_windows_are_renamed_too() -> None:
    twice = repeat_calls(_trace(), 2, fresh_windows=True)
    names = {buffer.name for buffer in twice.buffers}
    assert {"signal", "signal@2", "data", "data@2"} <= names


def test_tiles_keep_apart() -> None:
    """Also inside loops."""
    once = _trace(1 << 20)
    assert any(isinstance(event, Repeat) for event in once.agents[0].events)
    twice = repeat_calls(once, 2)
    length = len(once.agents[0].events)
    events = twice.agents[0].events
    first, second = (_stored(part) for part in (events[:length], events[length:]))
    assert first
    assert not first & second


def _stored(events) -> set[int]:
    found: set[int] = set()
    for event in events:
        if isinstance(event, Repeat):
            found |= _stored(event.body)
        elif isinstance(event, Store):
            found.add(event.tile.id)
    return found


def test_one_call_is_the_trace_itself() -> None:
    once = _trace()
    assert repeat_calls(once, 1) == once
    assert join_calls([once]) == once


def test_no_call_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1, got 0"):
        repeat_calls(_trace(), 0)
