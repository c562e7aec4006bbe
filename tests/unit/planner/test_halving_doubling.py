"""Halving-doubling: the least remote bytes at powers of two, folded elsewhere."""

import pytest

from allreduce_gen.spec import Algorithm

from .costs import RANKS, cost, power_below


@pytest.mark.parametrize("ranks", RANKS)
def test_remote_bytes_are_those_of_the_formula(ranks: int) -> None:
    core = power_below(ranks)
    found = cost(Algorithm.HALVING_DOUBLING, ranks, core * 160)
    vector = core * 160 * 4
    exchanged = 2 * (core - 1) * 160 * 4
    folded = vector if ranks != core else 0
    assert found.remote_bytes == exchanged + folded
    assert found.total_remote_bytes == core * exchanged + 2 * (ranks - core) * vector


@pytest.mark.parametrize("ranks", [2, 4, 8, 16, 32, 64])
def test_powers_of_two_move_the_least_there_is(ranks: int) -> None:
    found = cost(Algorithm.HALVING_DOUBLING, ranks, ranks * 1024)
    assert found.remote_bytes == found.bound_bytes


@pytest.mark.parametrize("ranks", RANKS)
def test_there_is_one_handshake_a_round_and_two_for_folding(ranks: int) -> None:
    core = power_below(ranks)
    found = cost(Algorithm.HALVING_DOUBLING, ranks, 1 << 20)
    assert found.notifies == 2 * (core.bit_length() - 1) + (ranks != core)


def test_one_window_holds_all() -> None:
    assert cost(Algorithm.HALVING_DOUBLING, 8, 4096).window_bytes == 4096 * 4
