"""Dissemination: a mesh's bytes in log2 P rounds of one notify; its barrier alike."""

import pytest

from allreduce_gen.spec import Algorithm, BarrierKind

from .costs import RANKS, blocks, cost


@pytest.mark.parametrize("size", [1, 64, 1000, 4097])
@pytest.mark.parametrize("ranks", RANKS)
def test_remote_bytes_are_a_mesh_s(ranks: int, size: int) -> None:
    found = cost(Algorithm.DISSEMINATION, ranks, size)
    assert found.remote_bytes == (ranks - 1) * blocks(size)
    assert found.window_bytes == ranks * blocks(size)


@pytest.mark.parametrize("ranks", RANKS)
def test_notifies_are_logarithmic(ranks: int) -> None:
    found = cost(Algorithm.DISSEMINATION, ranks, 1 << 20)
    assert found.notifies == found.barrier_rounds == (ranks - 1).bit_length()


@pytest.mark.parametrize("ranks", RANKS)
def test_so_are_those_of_the_barrier(ranks: int) -> None:
    found = cost(Algorithm.TWO_PHASE, ranks, 4096, barrier=BarrierKind.DISSEMINATION)
    assert found.notifies == found.barrier_rounds == 2 * (ranks - 1).bit_length()


@pytest.mark.parametrize(("ranks", "notifies"), [(16, 30), (17, 10)])
def test_auto_takes_it_for_many_ranks(ranks: int, notifies: int) -> None:
    found = cost(Algorithm.TWO_PHASE, ranks, 4096, barrier=BarrierKind.AUTO)
    assert found.notifies == notifies
