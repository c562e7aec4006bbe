"""What these tests share: models with round numbers, plans, and sizes that divide."""

from __future__ import annotations

import functools
import math

from allreduce_gen.costmodel import CostModel, Problem
from allreduce_gen.ir.expand import expand
from allreduce_gen.ir.plan import Plan
from allreduce_gen.ir.trace import Trace
from allreduce_gen.planner import make_plan
from allreduce_gen.spec import Algorithm, AllReduceSpec


def make_model(**numbers: float) -> CostModel:
    """A model whose numbers are zero unless given."""
    keys = (
        "alpha_s",
        "t_notify_s",
        "beta_s_per_byte",
        "gamma_s_per_byte",
        "copy_s_per_byte",
    )
    return CostModel(
        platform="a2a3sim",
        is_calibrated=False,
        source="a test",
        **(dict.fromkeys(keys, 0.0) | numbers),
    )


PURE = make_model(alpha_s=3.0, beta_s_per_byte=2**-6, gamma_s_per_byte=2**-8)
"""Latency, bandwidth, compute: what textbooks count."""

FULL = make_model(
    alpha_s=3.0,
    t_notify_s=0.25,
    beta_s_per_byte=2**-6,
    gamma_s_per_byte=2**-8,
    copy_s_per_byte=2**-9,
)


@functools.cache
def plan_and_trace(spec: AllReduceSpec) -> tuple[Plan, Trace]:
    plan = make_plan(spec)
    return plan, expand(plan)


def padded_problem(plan: Plan) -> Problem:
    """The problem that the plan's windows hold: the vector with its padding."""
    elems = plan.env.get("PADDED", plan.spec.size)
    return Problem(spec=plan.spec, moved_bytes=elems * plan.spec.dtype.nbytes)


def even_size(algorithm: Algorithm, num_ranks: int) -> int:
    """Elements that every cut of `algorithm` divides into whole 32-byte blocks."""
    if algorithm is Algorithm.HIERARCHICAL:
        return (
            8 * num_ranks * max(num_ranks - 1, 1)
        )  # a prime is folded to the one below
    if algorithm is Algorithm.HALVING_DOUBLING:
        return 8 * (1 << (num_ranks.bit_length() - 1))
    return 8 * math.lcm(2 * num_ranks, 8)


RANKS = (*range(2, 18), 64)
"""Numbers of ranks that formulas are tried at."""
