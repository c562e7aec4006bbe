"""Closed forms against the literature, against each other, and against traces."""

from __future__ import annotations

import pytest

from allreduce_gen.costmodel import (
    FORMULAS,
    Problem,
    closed_form,
    lower_bounds,
    remote_bytes,
)
from allreduce_gen.engines.simulator import count_ranks
from allreduce_gen.ir.cost import measure_cost
from allreduce_gen.spec import Algorithm, AllReduceSpec

from .models import PURE, RANKS, even_size, padded_problem, plan_and_trace

POWERS = (2, 4, 8, 16, 32, 64)
ALPHA, BETA, GAMMA = PURE.alpha_s, PURE.beta_s_per_byte, PURE.gamma_s_per_byte


def pose(algorithm: Algorithm, ranks: int, n: float) -> Problem:
    spec = AllReduceSpec(num_ranks=ranks, size=1, algorithm=algorithm)
    return Problem(spec=spec, moved_bytes=n)


def time(algorithm: Algorithm, ranks: int, n: float) -> float:
    return closed_form(pose(algorithm, ranks, n)).seconds(PURE)


def test_every_algorithm_has_a_formula_and_the_default_wins_ties() -> None:
    assert set(FORMULAS) == set(Algorithm)
    assert next(iter(FORMULAS)) is Algorithm.TWO_PHASE


@pytest.mark.parametrize("ranks", POWERS)
def test_at_powers_of_two_times_are_the_textbooks(ranks: int) -> None:
    n, depth, share = 4096.0, ranks.bit_length() - 1, (ranks - 1) / ranks
    per_byte = 2 * share * n * BETA + share * n * GAMMA
    wanted = {
        Algorithm.MESH: ALPHA + (ranks - 1) * n * (BETA + GAMMA),
        Algorithm.TWO_PHASE: 2 * ALPHA + per_byte,
        Algorithm.RING: 2 * (ranks - 1) * ALPHA + per_byte,
        Algorithm.RECURSIVE_DOUBLING: depth * (ALPHA + n * BETA + n * GAMMA),
        Algorithm.HALVING_DOUBLING: 2 * depth * ALPHA + per_byte,
        Algorithm.TREE: 2 * depth * (ALPHA + n * BETA) + depth * n * GAMMA,
        Algorithm.DISSEMINATION: depth * ALPHA + (ranks - 1) * n * (BETA + GAMMA),
    }
    found = {algorithm: time(algorithm, ranks, n) for algorithm in wanted}
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize("ranks", [3, 5, 6, 7, 9, 33])
def test_folding_costs_two_rounds_and_two_vectors(ranks: int) -> None:
    n, core = 4096.0, 1 << (ranks.bit_length() - 1)
    extra = 2 * ALPHA + 2 * n * BETA + n * GAMMA
    for algorithm in (Algorithm.RECURSIVE_DOUBLING, Algorithm.HALVING_DOUBLING):
        folded, whole = time(algorithm, ranks, n), time(algorithm, core, n)
        assert folded == pytest.approx(whole + extra)


@pytest.mark.parametrize("ranks", POWERS)
@pytest.mark.parametrize("n", [0.0, 1.0, 1e3, 1e6, 1e9])
def test_halving_doubling_never_loses_to_ring_at_powers_of_two(
    ranks: int, n: float
) -> None:
    halving = time(Algorithm.HALVING_DOUBLING, ranks, n)
    assert halving <= time(Algorithm.RING, ranks, n) * (1 + 1e-12)


@pytest.mark.parametrize("ranks", [*POWERS, 3, 5, 12])
@pytest.mark.parametrize("algorithm", FORMULAS)
def test_no_time_is_below_a_bound(algorithm: Algorithm, ranks: int) -> None:
    problem = pose(algorithm, ranks, 4096.0)
    bounds = lower_bounds(problem).seconds(PURE)
    if algorithm in (Algorithm.MESH, Algorithm.TWO_PHASE, Algorithm.HIERARCHICAL):
        del bounds["latency"]  # a round of theirs has many peers
    assert closed_form(problem).seconds(PURE) >= max(bounds.values()) * (1 - 1e-12)


def test_the_lower_bounds() -> None:
    bounds = lower_bounds(pose(Algorithm.RING, 6, 600.0))
    assert (bounds.rounds, bounds.remote_bytes, bounds.reduced_bytes) == (3, 1000, 500)


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("algorithm", FORMULAS)
def test_remote_bytes_counted_are_those_of_the_formula(
    algorithm: Algorithm, ranks: int, ragged: bool
) -> None:
    size = even_size(algorithm, ranks) * 4 - (5 if ragged else 0)
    spec = AllReduceSpec(num_ranks=ranks, size=size, algorithm=algorithm)
    plan, trace = plan_and_trace(spec)
    simulated = max(one.remote_bytes for one in count_ranks(trace))
    assert simulated == measure_cost(plan, trace).remote_bytes
    assert simulated == pytest.approx(remote_bytes(padded_problem(plan)))


def test_one_rank_moves_nothing_and_copies_once() -> None:
    problem = pose(Algorithm.RING, 1, 4096.0)
    terms = closed_form(problem)
    assert remote_bytes(problem) == terms.remote_bytes == terms.rounds == 0
    assert terms.copied_bytes == 2 * 4096
