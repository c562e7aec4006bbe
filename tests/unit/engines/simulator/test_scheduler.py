"""The orders are those asked for, and the same seed gives the same one."""

from types import SimpleNamespace

import pytest

from allreduce_gen.engines.base import RunOptions, Schedule
from allreduce_gen.engines.simulator.scheduler import make_pick

READY = [SimpleNamespace(agent=SimpleNamespace(rank=rank)) for rank in range(4)]


def picks(ready, *, schedule, seed=0):
    pick = make_pick(RunOptions(seed=seed, schedule=schedule), 4)
    return [pick(ready) for _ in range(40)]


def test_round_robin_takes_the_first_for_one_event():
    assert set(picks(READY, schedule=Schedule.ROUND_ROBIN)) == {(0, 1)}


def test_random_depends_on_the_seed_alone():
    first = picks(READY, schedule=Schedule.RANDOM, seed=5)
    assert first == picks(READY, schedule=Schedule.RANDOM, seed=5)
    assert first != picks(READY, schedule=Schedule.RANDOM, seed=6)
    assert {at for at, _ in first} == {0, 1, 2, 3}


@pytest.mark.parametrize("schedule", [Schedule.ONE_RANK_LATE, Schedule.BOTH_LATE])
def test_the_late_rank_goes_only_when_it_is_alone(schedule):
    chosen = picks(READY, schedule=schedule, seed=6)
    assert {at for at, _ in chosen} == {0, 1, 3}
    assert set(picks(READY[2:3], schedule=schedule, seed=6)) == {(0, 1)}
