"""Two levels: the least remote bytes for any groups; primes are folded."""

import pytest

from allreduce_gen.planner.hierarchical import choose_groups
from allreduce_gen.spec import Algorithm, AllReduceSpec, BarrierKind

from .costs import RANKS, cost


@pytest.mark.parametrize(
    ("ranks", "groups"),
    [
        (2, (1, 2)),
        (3, (1, 3)),
        (4, (2, 2)),
        (5, (2, 2)),
        (6, (2, 3)),
        (7, (2, 3)),
        (12, (3, 4)),
        (13, (3, 4)),
        (16, (4, 4)),
        (64, (8, 8)),
    ],
)
def test_groups_are_near_the_square_root(ranks: int, groups: tuple[int, int]) -> None:
    spec = AllReduceSpec(num_ranks=ranks, size=64, algorithm=Algorithm.HIERARCHICAL)
    assert choose_groups(spec) == groups


@pytest.mark.parametrize("ranks", RANKS)
def test_remote_bytes_are_those_of_the_formula(ranks: int) -> None:
    spec = AllReduceSpec(num_ranks=ranks, size=64, algorithm=Algorithm.HIERARCHICAL)
    groups, members = choose_groups(spec)
    core = groups * members
    size = core * 160
    inside = 2 * (members - 1) * size // members
    across = 2 * (groups - 1) * size // core
    folded = size if core != ranks else 0
    found = cost(Algorithm.HIERARCHICAL, ranks, size)
    assert found.remote_bytes == 4 * (inside + across + folded)


@pytest.mark.parametrize("groups", [(1, 12), (2, 6), (3, 4), (4, 3), (6, 2), (12, 1)])
def test_any_groups_move_the_least_there_is(groups: tuple[int, int]) -> None:
    found = cost(Algorithm.HIERARCHICAL, 12, 12 * 160, groups=groups)
    assert found.remote_bytes == found.bound_bytes


def test_barriers_are_those_of_the_groups() -> None:
    found = cost(Algorithm.HIERARCHICAL, 64, 4096)
    assert (found.barrier_rounds, found.notifies) == (4, 4 * 7)
    rounds = cost(Algorithm.HIERARCHICAL, 64, 4096, barrier=BarrierKind.DISSEMINATION)
    assert (rounds.barrier_rounds, rounds.notifies) == (4 * 3, 4 * 3)
