"""Order and deadlock beside an exhaustive walk through every interleaving."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allreduce_gen.checks import Analysis, check_deadlock, check_trace, find_races
from allreduce_gen.ir.events import Load, Notify, NotifyOp, Store, Wait


def _counter(me, line: int, expected: int) -> None:
    """A barrier on one counter that everybody raises."""
    for peer in me.at(line).peers:
        me.notify(peer, 0, 0)
    me.at(line + 1).wait(0, 0, expected)


def _two_phase_on_one_counter(programs, num_ranks: int, second: int):
    def script(me) -> None:
        programs.stage_in(me, 16 * num_ranks)
        _counter(me, 20, num_ranks - 1)
        programs.reduce_scatter(me, 16)
        _counter(me, 40, second)
        programs.all_gather(me, 16)

    return programs.write(num_ranks, 16 * num_ranks, script)


@pytest.mark.parametrize("num_ranks", [2, 3, 4, 8])
def test_one_counter_with_rising_thresholds_is_sound(programs, num_ranks) -> None:
    trace = _two_phase_on_one_counter(programs, num_ranks, 2 * (num_ranks - 1))
    analysis = Analysis(trace)
    assert analysis.order.exact == (num_ranks == 2)  # else no notify is necessary
    assert check_trace(trace) == ()


def test_one_counter_with_a_threshold_one_too_low_races(programs, kinds) -> None:
    trace = _two_phase_on_one_counter(programs, 4, 5)
    assert kinds(check_trace(trace)) == ["(AR302)", "AR401"]


_STEP = st.tuples(
    st.sampled_from(["notify", "notify", "wait", "lower", "set", "read", "write"]),
    st.integers(0, 2),  # peer or memory
    st.integers(0, 1),  # slot
    st.integers(1, 3),  # value or threshold
)
_SCRIPTS = st.lists(st.lists(_STEP, max_size=4), min_size=2, max_size=3)


def _write_random(programs, scripts):
    num_ranks = len(scripts)

    def script(me) -> None:
        for line, (kind, where, slot, amount) in enumerate(scripts[me.rank]):
            me.at(100 * me.rank + line)
            peer = where % num_ranks
            match kind:
                case "notify":
                    me.notify(peer, 0, slot, min(amount, 2))
                case "wait":
                    me.wait(0, slot, amount)
                case "lower":
                    me.notify(me.rank, 0, slot, -1)
                case "set":
                    me.notify(peer, 0, slot, amount, NotifyOp.SET)
                case "read":
                    me.get(peer, "data", 0, 8)
                case _:
                    me.put(me.fill(8, 1.0), peer, "data", 0)

    return programs.write(num_ranks, 8, script, signal=(1, 2))


def _enabled(trace, state):
    """Agents whose next event can happen, where agent r has done state[r] events.

    A slot that several agents Set is decided only where all Set the same value.
    """
    cells: dict[tuple[int, int], int] = {}
    for one, done in zip(trace.agents, state, strict=True):
        for event in one.events[:done]:
            if isinstance(event, Notify):
                key = (event.peer, event.slot.offsets[1])
                adds = event.op is NotifyOp.ATOMIC_ADD
                cells[key] = event.value + (cells.get(key, 0) if adds else 0)
    for number, (one, done) in enumerate(zip(trace.agents, state, strict=True)):
        if done < len(one.events):
            event = one.events[done]
            if isinstance(event, Wait):
                key = (one.agent.rank, event.slot.offsets[1])
                if cells.get(key, 0) < event.expected:
                    continue
            yield number


def _explore(trace):
    """Every reachable state's verdict: can it block, and which accesses meet in it."""
    start = (0,) * len(trace.agents)
    todo, seen, blocks, meets = [start], {start}, False, set()
    while todo:
        state = todo.pop()
        ready = list(_enabled(trace, state))
        done = all(
            count == len(one.events)
            for count, one in zip(state, trace.agents, strict=True)
        )
        blocks = blocks or (not ready and not done)
        meets.update(_meeting(trace, state, ready))
        for number in ready:
            following = (*state[:number], state[number] + 1, *state[number + 1 :])
            if following not in seen:
                seen.add(following)
                todo.append(following)
    return blocks, meets


def _touch(trace, number, at):
    one = trace.agents[number]
    event = one.events[at]
    if not hasattr(event, "region"):
        return None
    peer = getattr(event, "peer", one.agent.rank)
    assert not isinstance(event, Load | Store)
    return peer, hasattr(event, "atomic")


def _meeting(trace, state, ready):
    for left in ready:
        for right in ready:
            mine, theirs = _touch(trace, left, state[left]), None
            if left < right and mine is not None:
                theirs = _touch(trace, right, state[right])
            if theirs is not None and mine[0] == theirs[0] and (mine[1] or theirs[1]):
                yield (left, state[left]), (right, state[right])


@settings(max_examples=150, deadline=None, derandomize=True)
@given(scripts=_SCRIPTS)
def test_the_verdicts_are_those_of_all_interleavings(programs, scripts) -> None:
    trace = _write_random(programs, scripts)
    analysis = Analysis(trace)
    if any(slot.waits and slot.doubt for slot in analysis.sync.slots):
        assert {"AR309"} & {one.code.id for one in check_deadlock(analysis)}
        return
    blocks, meets = _explore(trace)
    assert any(check_deadlock(analysis)) == blocks
    lines = {tuple(sorted(_line(trace, point) for point in pair)) for pair in meets}
    found = {
        tuple(sorted(analysis.program.event(point).origin.line for point in race.pair))
        for race in find_races(analysis)
    }
    assert found == lines


def _line(trace, point):
    number, at = point
    return trace.agents[number].events[at].origin.line
