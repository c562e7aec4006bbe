"""Mesh: P-1 vectors a rank, one round, the order of the ranks."""

import pytest

from allreduce_gen.spec import Algorithm, DType, Reuse, Transfer

from .costs import RANKS, blocks, cost


@pytest.mark.parametrize("transfer", Transfer)
@pytest.mark.parametrize("size", [1, 64, 1000, 4097])
@pytest.mark.parametrize("ranks", RANKS)
def test_remote_bytes_are_those_of_the_formula(
    ranks: int, size: int, transfer: Transfer
) -> None:
    found = cost(Algorithm.MESH, ranks, size, transfer=transfer)
    moved = blocks(size) if transfer is Transfer.PULL else size * 4
    assert found.remote_bytes == (ranks - 1) * moved
    assert found.total_remote_bytes == ranks * (ranks - 1) * moved


@pytest.mark.parametrize("ranks", RANKS)
def test_there_is_one_round(ranks: int) -> None:
    found = cost(Algorithm.MESH, ranks, 1 << 20)
    assert (found.barrier_rounds, found.notifies) == (1, ranks - 1)


def test_windows_that_persist_need_a_second_round() -> None:
    assert cost(Algorithm.MESH, 4, 64, reuse=Reuse.EPOCH).barrier_rounds == 2


def test_pushed_elements_have_a_slot_for_each_rank() -> None:
    pulled, pushed = (
        cost(Algorithm.MESH, 4, 64, transfer=transfer).window_bytes
        for transfer in (Transfer.PULL, Transfer.PUSH)
    )
    assert (pulled, pushed) == (256, 4 * 256)


def test_windows_keep_elements_as_they_came() -> None:
    assert cost(Algorithm.MESH, 4, 4096, dtype=DType.BF16).window_bytes == 8192
