"""What the planner makes is sound."""

from __future__ import annotations

import pytest

from allreduce_gen.checks import Collective, check_trace, recognise
from allreduce_gen.ir.expand import expand
from allreduce_gen.planner import make_plan
from allreduce_gen.spec import AllReduceSpec


@pytest.mark.parametrize(
    ("num_ranks", "size"), [(1, 4096), (2, 64), (3, 4104), (4, 4096), (8, 1 << 20)]
)
def test_plans_are_sound(num_ranks, size) -> None:
    trace = expand(make_plan(AllReduceSpec(num_ranks=num_ranks, size=size)))
    assert check_trace(trace) == ()
    assert recognise(trace) is Collective.ALL_REDUCE
