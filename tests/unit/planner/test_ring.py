"""Both rings: the least remote bytes, and handshakes with neighbours alone."""

import pytest

from allreduce_gen.spec import Algorithm, DType, Reuse

from .costs import RANKS, blocks, cost

RINGS = (Algorithm.RING, Algorithm.BIDIRECTIONAL_RING)


@pytest.mark.parametrize("algorithm", RINGS)
@pytest.mark.parametrize("ranks", RANKS)
def test_remote_bytes_are_the_least_there_is(ranks: int, algorithm: Algorithm) -> None:
    found = cost(algorithm, ranks, ranks * 160)
    assert found.remote_bytes == 2 * (ranks - 1) * 160 * 4 == found.bound_bytes


@pytest.mark.parametrize("size", [65537, 1000003])
@pytest.mark.parametrize("ranks", RANKS)
def test_ragged_sizes_add_less_than_a_block_a_tile(ranks: int, size: int) -> None:
    moved = cost(Algorithm.RING, ranks, size).remote_bytes
    exact = 2 * (ranks - 1) * blocks(-(-size // ranks))
    tiles = -(-size // ranks // 16384)
    assert exact <= moved <= exact + 2 * (ranks - 1) * 32 * tiles


@pytest.mark.parametrize(
    ("algorithm", "ways"), [(Algorithm.RING, 1), (Algorithm.BIDIRECTIONAL_RING, 2)]
)
@pytest.mark.parametrize("ranks", RANKS)
def test_only_neighbours_are_notified(
    ranks: int, algorithm: Algorithm, ways: int
) -> None:
    found = cost(algorithm, ranks, 4096)
    assert found.notifies == found.waits == 2 * (ranks - 1) * ways


def test_persisting_windows_need_one_more_handshake() -> None:
    assert cost(Algorithm.RING, 8, 4096, reuse=Reuse.EPOCH).notifies == 15
    both = cost(Algorithm.BIDIRECTIONAL_RING, 8, 4096, reuse=Reuse.EPOCH)
    assert both.notifies == 30


@pytest.mark.parametrize("ranks", [2, 3, 8])
@pytest.mark.parametrize("algorithm", RINGS)
def test_slots_lowered_between_waits_make_no_round(
    algorithm: Algorithm, ranks: int
) -> None:
    once, epoch, clearing = (
        cost(algorithm, ranks, 4096, reuse=reuse).barrier_rounds for reuse in Reuse
    )
    assert (once, epoch, clearing) == (2 * ranks - 2, 2 * ranks - 1, 2 * ranks - 1)


def test_chunks_without_elements_are_not_moved() -> None:
    assert cost(Algorithm.RING, 64, 1).remote_bytes == 2 * 32


def test_partial_results_are_wide() -> None:
    narrow, wide = (
        cost(Algorithm.RING, 4, 4096, dtype=dtype).remote_bytes
        for dtype in (DType.INT16, DType.BF16)
    )
    assert wide == 2 * narrow
