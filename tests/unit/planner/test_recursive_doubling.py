"""Recursive doubling: a vector a round, folded where P is no power of two."""

import pytest

from allreduce_gen.spec import Algorithm, Reuse

from .costs import RANKS, blocks, cost, power_below


@pytest.mark.parametrize("size", [1, 64, 1000, 4097])
@pytest.mark.parametrize("ranks", RANKS)
def test_remote_bytes_are_those_of_the_formula(ranks: int, size: int) -> None:
    found = cost(Algorithm.RECURSIVE_DOUBLING, ranks, size)
    core = power_below(ranks)
    rounds, extra = core.bit_length() - 1, ranks - core
    assert found.remote_bytes == (rounds + bool(extra)) * blocks(size)
    assert found.total_remote_bytes == (core * rounds + 2 * extra) * blocks(size)


@pytest.mark.parametrize("ranks", RANKS)
def test_there_is_one_handshake_a_round_and_two_for_folding(ranks: int) -> None:
    found = cost(Algorithm.RECURSIVE_DOUBLING, ranks, 1 << 20)
    rounds = power_below(ranks).bit_length() - 1
    assert found.notifies == rounds + (ranks != power_below(ranks))


@pytest.mark.parametrize(
    ("ranks", "vectors"), [(2, 2), (4, 3), (7, 3), (8, 4), (64, 7)]
)
def test_every_round_starts_from_a_vector_of_its_own(ranks: int, vectors: int) -> None:
    found = cost(Algorithm.RECURSIVE_DOUBLING, ranks, 64)
    assert found.window_bytes == vectors * 64 * 4


def test_persisting_windows_need_a_barrier() -> None:
    found = cost(Algorithm.RECURSIVE_DOUBLING, 8, 64, reuse=Reuse.EPOCH)
    assert found.barrier_rounds == 4
