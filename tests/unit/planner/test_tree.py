"""Trees: vectors on every edge, twice; few notifies in all."""

import pytest

from allreduce_gen.spec import Algorithm

from .costs import RANKS, blocks, cost


@pytest.mark.parametrize("size", [1, 64, 1000, 4097])
@pytest.mark.parametrize("ranks", RANKS)
def test_rank_0_reads_a_vector_a_round(ranks: int, size: int) -> None:
    found = cost(Algorithm.TREE, ranks, size)
    assert found.remote_bytes == (ranks - 1).bit_length() * blocks(size)
    assert found.total_remote_bytes == 2 * (ranks - 1) * blocks(size)


@pytest.mark.parametrize("ranks", RANKS)
def test_rounds_do_not_grow_with_the_vector(ranks: int) -> None:
    depth = (ranks - 1).bit_length()
    for size in (1, 1000003):
        found = cost(Algorithm.TREE, ranks, size)
        assert found.barrier_rounds == depth


@pytest.mark.parametrize("ranks", RANKS)
def test_both_trees_together_move_what_one_does(ranks: int) -> None:
    found = cost(Algorithm.DOUBLE_TREE, ranks, 8192)
    assert found.total_remote_bytes == 2 * (ranks - 1) * 8192 * 4


@pytest.mark.parametrize("ranks", RANKS)
def test_no_rank_reads_more_than_two_vectors_or_three_for_odd_numbers(
    ranks: int,
) -> None:
    vectors = cost(Algorithm.DOUBLE_TREE, ranks, 8192).remote_bytes / (8192 * 4)
    assert vectors <= (2.5 if ranks % 2 else 2)


@pytest.mark.parametrize("size", [1, 64, 1000003])
def test_the_double_tree_has_a_fixed_number_of_blocks(size: int) -> None:
    found = cost(Algorithm.DOUBLE_TREE, 8, size)
    full = cost(Algorithm.DOUBLE_TREE, 8, 8192)
    assert (found.notifies, found.waits) == (full.notifies, full.waits)
