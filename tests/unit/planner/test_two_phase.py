"""Two-phase: the least remote bytes, pulled or pushed, in two rounds."""

import pytest

from allreduce_gen.spec import Algorithm, Transfer

from .costs import RANKS, cost


@pytest.mark.parametrize("transfer", Transfer)
@pytest.mark.parametrize("ranks", RANKS)
def test_remote_bytes_are_the_least_there_is(ranks: int, transfer: Transfer) -> None:
    found = cost(Algorithm.TWO_PHASE, ranks, ranks * 160, transfer=transfer)
    assert found.remote_bytes == 2 * (ranks - 1) * 160 * 4 == found.bound_bytes
    assert found.barrier_rounds == 2


def test_pushing_needs_a_slot_for_each_rank_and_the_result() -> None:
    found = cost(Algorithm.TWO_PHASE, 4, 4096, transfer=Transfer.PUSH)
    assert found.window_bytes == 2 * 4096 * 4
