"""Replayed traces: they agree with the closed forms, queue at ports, and deadlock."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from allreduce_gen.costmodel import FORMULAS, closed_form, replay
from allreduce_gen.spec import (
    Algorithm,
    AllReduceSpec,
    BarrierKind,
    DType,
    Order,
    Reuse,
    Transfer,
)

from .models import FULL, PURE, RANKS, even_size, padded_problem, plan_and_trace


def is_exact(algorithm: Algorithm, ranks: int) -> bool:
    """The double tree's form counts whole levels."""
    return algorithm is not Algorithm.DOUBLE_TREE or ranks & (ranks - 1) == 0


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("algorithm", FORMULAS)
def test_replay_and_closed_form_agree(algorithm: Algorithm, ranks: int) -> None:
    size = even_size(algorithm, ranks)
    spec = AllReduceSpec(num_ranks=ranks, size=size, algorithm=algorithm)
    plan, trace = plan_and_trace(spec)
    assert padded_problem(plan).moved_bytes == spec.size_bytes
    replayed, terms = replay(trace, FULL), closed_form(padded_problem(plan))
    if is_exact(algorithm, ranks):
        assert replayed.terms == terms
        assert replayed.seconds == pytest.approx(terms.seconds(FULL))
    else:
        assert replayed.seconds == pytest.approx(terms.seconds(FULL), rel=1 / 6)


@pytest.mark.parametrize("ranks", [2, 3, 5, 8, 13])
@pytest.mark.parametrize("algorithm", FORMULAS)
def test_they_agree_on_padded_vectors_too(algorithm: Algorithm, ranks: int) -> None:
    size = 4 * even_size(algorithm, ranks) - 5
    spec = AllReduceSpec(num_ranks=ranks, size=size, algorithm=algorithm)
    plan, trace = plan_and_trace(spec)
    modelled = closed_form(padded_problem(plan)).seconds(PURE)
    if is_exact(algorithm, ranks):
        assert replay(trace, PURE).seconds == pytest.approx(modelled)


def test_blocks_without_elements_are_counted_but_not_moved() -> None:
    """Two of the double tree's eight blocks have elements: a quarter of the rounds."""
    spec = AllReduceSpec(num_ranks=2, size=10, algorithm=Algorithm.DOUBLE_TREE)
    plan, trace = plan_and_trace(spec)
    modelled, replayed = closed_form(padded_problem(plan)), replay(trace, PURE)
    assert modelled.rounds == 4 * replayed.terms.rounds == 16


@pytest.mark.parametrize(
    "changes",
    [
        {"dtype": DType.BF16},
        {"barrier": BarrierKind.DISSEMINATION},
        {"algorithm": Algorithm.RING, "dtype": DType.FP16},
        {"transfer": Transfer.PUSH},
        {"algorithm": Algorithm.MESH, "transfer": Transfer.PUSH},
        {"algorithm": Algorithm.MESH, "barrier": BarrierKind.AUTO, "num_ranks": 17},
    ],
)
def test_they_agree_on_types_barriers_and_pushes(changes: dict[str, object]) -> None:
    spec = replace(AllReduceSpec(num_ranks=8, size=8 * 17 * 16), **changes)  # type: ignore[arg-type]
    plan, trace = plan_and_trace(spec)
    terms = closed_form(padded_problem(plan))
    assert replay(trace, FULL).terms == terms


def test_a_mesh_that_starts_at_rank_0_queues_there() -> None:
    ascending = AllReduceSpec(num_ranks=8, size=64, algorithm=Algorithm.MESH)
    _, trace = plan_and_trace(ascending)
    free, queued = (
        replay(trace, PURE, charges_source=charged).seconds for charged in (False, True)
    )
    first = 7 * 64 * 4 * PURE.beta_s_per_byte  # the last of seven readers is served
    assert queued > free
    assert queued - free > first / 2


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_two_phase_goes_around_and_never_queues(ranks: int) -> None:
    around = AllReduceSpec(num_ranks=ranks, size=ranks * 8)
    ascending = replace(around, order=Order.ASCENDING)
    times = {
        (spec.order, charged): replay(
            plan_and_trace(spec)[1], PURE, charges_source=charged
        ).seconds
        for spec in (around, ascending)
        for charged in (False, True)
    }
    assert times[None, True] == pytest.approx(times[None, False])
    if ranks > 2:
        assert times[Order.ASCENDING, True] > times[Order.ASCENDING, False]


def test_the_critical_path_is_connected_and_ends_last() -> None:
    spec = AllReduceSpec(num_ranks=6, size=96, algorithm=Algorithm.TREE)
    replayed = replay(plan_and_trace(spec)[1], FULL)
    path = [replayed.events[number] for number in replayed.path]
    assert path[0].start_s == 0
    assert path[-1].end_s == replayed.seconds
    assert all(
        before.end_s <= after.end_s for before, after in itertools.pairwise(path)
    )
    assert sum(one.terms.seconds(FULL) for one in path) == pytest.approx(
        replayed.seconds
    )


def test_all_ranks_together_do_more_than_the_path() -> None:
    spec = AllReduceSpec(num_ranks=4, size=64)
    replayed = replay(plan_and_trace(spec)[1], FULL)
    assert replayed.total.remote_bytes == 4 * replayed.terms.remote_bytes
    assert replayed.total.notifies == 4 * replayed.terms.notifies


def test_slots_that_are_cleared_let_the_next_call_through() -> None:
    spec = AllReduceSpec(num_ranks=4, size=64, reuse=Reuse.SELF_CLEARING)
    plain = replace(spec, reuse=Reuse.ONCE)
    cleared, once = (replay(plan_and_trace(one)[1], PURE) for one in (spec, plain))
    assert cleared.seconds == pytest.approx(once.seconds)


def test_a_trace_that_deadlocks_is_refused() -> None:
    _, trace = plan_and_trace(AllReduceSpec(num_ranks=2, size=64))
    silent = replace(trace.agents[1], events=trace.agents[1].events[:2])
    with pytest.raises(ValueError, match="rank 0 waits for ever"):
        replay(replace(trace, agents=(trace.agents[0], silent)), PURE)
