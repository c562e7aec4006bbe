"""Which planner makes the plan of a spec."""

from __future__ import annotations

from collections.abc import Callable

from allreduce_gen.ir.plan import Plan
from allreduce_gen.spec import Algorithm, AllReduceSpec

from .bidirectional_ring import plan_bidirectional_ring
from .dissemination import plan_dissemination
from .double_tree import plan_double_tree
from .halving_doubling import plan_halving_doubling
from .hierarchical import plan_hierarchical
from .identity import plan_identity
from .mesh import plan_mesh
from .recursive_doubling import plan_recursive_doubling
from .ring import plan_ring
from .tree import plan_tree
from .two_phase import plan_two_phase

_PLANNERS: dict[Algorithm, Callable[[AllReduceSpec], Plan]] = {
    Algorithm.TWO_PHASE: plan_two_phase,
    Algorithm.MESH: plan_mesh,
    Algorithm.RING: plan_ring,
    Algorithm.RECURSIVE_DOUBLING: plan_recursive_doubling,
    Algorithm.HALVING_DOUBLING: plan_halving_doubling,
    Algorithm.TREE: plan_tree,
    Algorithm.HIERARCHICAL: plan_hierarchical,
    Algorithm.BIDIRECTIONAL_RING: plan_bidirectional_ring,
    Algorithm.DOUBLE_TREE: plan_double_tree,
    Algorithm.DISSEMINATION: plan_dissemination,
}


def make_plan(spec: AllReduceSpec) -> Plan:
    """The plan for `spec`, which `check_spec` accepts; one rank is the identity."""
    planner = plan_identity if spec.num_ranks == 1 else _PLANNERS[spec.algorithm]
    return planner(spec)
