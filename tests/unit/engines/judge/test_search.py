"""Random small programs: against a search without short cuts, and the simulator."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from allreduce_gen.engines.base import RunOptions, Schedule
from allreduce_gen.engines.judge import judge
from allreduce_gen.engines.judge.commute import lets_go
from allreduce_gen.engines.judge.conflicts import find_conflicts
from allreduce_gen.engines.judge.programs import read_trace
from allreduce_gen.engines.simulator import simulate
from allreduce_gen.errors import ExecutionError
from allreduce_gen.ir.events import Notify, NotifyOp, WaitCmp

SLOT = st.integers(0, 1)
NOTIFY = st.tuples(
    st.just("notify"),
    st.integers(0, 2),
    SLOT,
    st.sampled_from([1, 1, 2, -1]),
    st.sampled_from([NotifyOp.ATOMIC_ADD, NotifyOp.ATOMIC_ADD, NotifyOp.SET]),
)
WAIT = st.tuples(
    st.just("wait"),
    SLOT,
    st.integers(0, 2),
    st.sampled_from([WaitCmp.GE, WaitCmp.GE, WaitCmp.EQ]),
)
ACCESS = st.tuples(st.sampled_from(["load", "store"]), st.integers(0, 2))
PROGRAMS = st.lists(
    st.lists(NOTIFY | WAIT | ACCESS, max_size=6), min_size=2, max_size=3
)


def make_trace(sketch, scripts):
    program = sketch(3)
    for rank, script in zip(program.ranks, scripts, strict=False):
        for kind, *words in script:
            match kind:
                case "notify":
                    peer, slot, value, op = words
                    rank.notify(peer, 0, slot, value=value, op=op)
                case "wait":
                    slot, expected, cmp = words
                    rank.wait(0, slot, expected, cmp)
                case "load":
                    rank.store(rank.remote_load("data", words[0]), "y")
                case "store":
                    rank.remote_store(rank.fill(8, rank.rank + 1), "data", words[0])
    return program.trace()


def next_states(programs, state):
    places, values = state
    for agent, program in enumerate(programs):
        for sync in program.syncs[places[agent] : places[agent] + 1]:
            slots = dict(values)
            seen = slots.get(sync.slot, 0)
            match sync.event:
                case Notify(op=NotifyOp.SET, value=value):
                    slots[sync.slot] = value
                case Notify(value=value):
                    slots[sync.slot] = seen + value
                case wait if not lets_go(wait, seen):
                    continue
            passed = (*places[:agent], places[agent] + 1, *places[agent + 1 :])
            yield passed, frozenset(slots.items())


def explore(programs):
    """Every state, one signal at a time."""
    start = (0,) * len(programs), frozenset()
    seen, stack = {start}, [start]
    while stack:
        state = stack.pop()
        for after in next_states(programs, state):
            if after not in seen:
                seen.add(after)
                stack.append(after)
    return seen


def judge_plainly(trace):
    """(whether it may deadlock, the meetings of conflicting accesses)."""
    programs = read_trace(trace)
    states = explore(programs)
    ends = tuple(len(program.syncs) for program in programs)
    stuck = any(
        places != ends and not any(next_states(programs, (places, values)))
        for places, values in states
    )
    conflicts = find_conflicts(programs)
    met = {
        (one, places[one], other, places[other])
        for places, _ in states
        for one, other in itertools.combinations(range(len(programs)), 2)
    }
    pairs = {
        (
            programs[meeting[0]].agent,
            first.index,
            programs[meeting[2]].agent,
            second.index,
        )
        for meeting, accesses in conflicts.items()
        if meeting in met
        for first, second in accesses
    }
    return stuck, pairs


@settings(max_examples=300, deadline=None, derandomize=True)
@given(PROGRAMS)
def test_the_short_cuts_lose_nothing(sketch, scripts):
    trace = make_trace(sketch, scripts)
    verdict = judge(trace)
    stuck, pairs = judge_plainly(trace)
    assert verdict.undecided == ()
    assert (verdict.deadlock is not None) == stuck
    assert {(*race.first, *race.second) for race in verdict.races} == pairs


def outcome(trace, options):
    """What the ranks stored, or None where they deadlock."""
    try:
        return simulate(trace, {}, options).outputs["y"].tobytes()
    except ExecutionError:
        return None


@settings(max_examples=100, deadline=None, derandomize=True)
@given(PROGRAMS)
def test_what_is_sound_gives_the_same_outputs_in_every_order(sketch, scripts):
    trace = make_trace(sketch, scripts)
    verdict = judge(trace)
    outcomes = {
        outcome(trace, RunOptions(seed=seed, schedule=schedule))
        for seed in range(3)
        for schedule in Schedule
    }
    if verdict.deadlock is None:
        assert None not in outcomes
    if verdict.is_sound:
        assert len(outcomes) == 1


def test_a_search_takes_one_path_where_every_signal_commutes(two_phase):
    trace = two_phase(4).trace()
    programs = read_trace(trace)
    num_signals = sum(len(program.syncs) for program in programs)
    num_searches = 1 + len(find_conflicts(programs))
    assert judge(trace).num_states <= num_signals * num_searches
