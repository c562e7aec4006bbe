"""Where one algorithm becomes faster than another."""

from __future__ import annotations

import itertools

import pytest

from allreduce_gen.costmodel import FORMULAS, find_crossovers
from allreduce_gen.spec import Algorithm, AllReduceSpec

from .models import PURE, make_model

ALPHA, BETA, GAMMA = PURE.alpha_s, PURE.beta_s_per_byte, PURE.gamma_s_per_byte


@pytest.mark.parametrize("ranks", [2, 3, 4, 8, 13, 64])
def test_mesh_gives_way_to_two_phase_where_the_formula_says(ranks: int) -> None:
    spec = AllReduceSpec(num_ranks=ranks, size=64)
    (found,) = find_crossovers(spec, (Algorithm.TWO_PHASE, Algorithm.MESH), PURE)
    per_byte = (BETA + GAMMA) - (2 * BETA + GAMMA) / ranks
    assert found.before is Algorithm.MESH
    assert found.after is Algorithm.TWO_PHASE
    assert found.vector_bytes == pytest.approx(ALPHA / ((ranks - 1) * per_byte))


def test_for_two_ranks_it_is_two_alpha_over_gamma() -> None:
    spec = AllReduceSpec(num_ranks=2, size=64)
    (found,) = find_crossovers(spec, (Algorithm.TWO_PHASE, Algorithm.MESH), PURE)
    assert found.vector_bytes == pytest.approx(2 * ALPHA / GAMMA)


@pytest.mark.parametrize("ranks", [4, 8, 16])
def test_doubling_gives_way_to_halving_where_the_formula_says(ranks: int) -> None:
    spec = AllReduceSpec(num_ranks=ranks, size=64)
    pair = (Algorithm.RECURSIVE_DOUBLING, Algorithm.HALVING_DOUBLING)
    (found,) = find_crossovers(spec, pair, PURE)
    depth = ranks.bit_length() - 1
    per_byte = depth * (BETA + GAMMA) - (ranks - 1) / ranks * (2 * BETA + GAMMA)
    assert found.vector_bytes == pytest.approx(depth * ALPHA / per_byte)


def test_equals_do_not_take_over_from_each_other() -> None:
    spec = AllReduceSpec(num_ranks=2, size=64)
    equals = (Algorithm.TWO_PHASE, Algorithm.RING, Algorithm.HALVING_DOUBLING)
    assert find_crossovers(spec, equals, PURE) == ()


def test_crossovers_follow_each_other() -> None:
    model = make_model(
        alpha_s=2e-6,
        t_notify_s=2e-7,
        beta_s_per_byte=4e-11,
        gamma_s_per_byte=1e-11,
        copy_s_per_byte=1e-11,
    )
    found = find_crossovers(AllReduceSpec(num_ranks=64, size=64), FORMULAS, model)
    assert len(found) > 1
    for before, after in itertools.pairwise(found):
        assert before.after is after.before
        assert before.vector_bytes < after.vector_bytes
