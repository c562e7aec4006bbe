"""From an AllReduceSpec to a Plan: all that is decided is decided here."""

from __future__ import annotations

from collections.abc import Callable

from allreduce_gen.ir.plan import Plan
from allreduce_gen.spec import Algorithm, AllReduceSpec

from .identity import plan_identity
from .spec_rules import check_spec
from .two_phase import plan_two_phase

__all__ = [
    "check_spec",
    "make_plan",
    "plan_identity",
    "plan_two_phase",
]

_PLANNERS: dict[Algorithm, Callable[[AllReduceSpec], Plan]] = {
    Algorithm.TWO_PHASE: plan_two_phase,
}


def make_plan(spec: AllReduceSpec) -> Plan:
    """The plan for `spec`, which `check_spec` accepts; one rank is the identity."""
    planner = plan_identity if spec.num_ranks == 1 else _PLANNERS[spec.algorithm]
    return planner(spec)
