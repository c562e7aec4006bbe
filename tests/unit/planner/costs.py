"""What the tests of planners share: the cost of a plan, counted from its trace."""

from __future__ import annotations

from allreduce_gen.ir.cost import Cost, measure_cost
from allreduce_gen.ir.expand import expand
from allreduce_gen.planner import make_plan
from allreduce_gen.spec import Algorithm, AllReduceSpec

RANKS = (*range(2, 18), 64)
"""Numbers of ranks that formulas are tried at."""


def cost(algorithm: Algorithm, num_ranks: int, size: int, **options: object) -> Cost:
    """The cost of an all-reduce of FP32 elements unless `options` say otherwise."""
    spec = AllReduceSpec(
        algorithm=algorithm,
        num_ranks=num_ranks,
        size=size,
        **options,  # type: ignore[arg-type]
    )
    plan = make_plan(spec)
    return measure_cost(plan, expand(plan))


def blocks(size: int) -> int:
    """Bytes of `size` FP32 elements in whole 32-byte blocks."""
    return -(-size // 8) * 32


def power_below(number: int) -> int:
    """The largest power of two that is not above `number`."""
    return 1 << (number.bit_length() - 1)
