"""The time of every algorithm in closed form, with the source of each.

P is the number of ranks, n a rank's bytes, alpha a round's latency whatever its
fan-out, beta a remote byte, gamma a reduced one. Every rank has one port. Beside those
terms, as the sources have them, stands what this package's kernels add: notifies and
local copies.
"""

from __future__ import annotations

from collections.abc import Callable

from allreduce_gen.costmodel.terms import Problem, Terms
from allreduce_gen.spec import Algorithm

from .bounds import LowerBounds, lower_bounds
from .direct import dissemination, mesh, two_phase
from .doubling import halving_doubling, recursive_doubling
from .levels import hierarchical
from .rings import bidirectional_ring, ring
from .trees import double_tree, tree
from .volumes import remote_bytes

__all__ = ["FORMULAS", "LowerBounds", "closed_form", "lower_bounds", "remote_bytes"]

FORMULAS: dict[Algorithm, Callable[[Problem], Terms]] = {
    Algorithm.TWO_PHASE: two_phase,
    Algorithm.MESH: mesh,
    Algorithm.RING: ring,
    Algorithm.RECURSIVE_DOUBLING: recursive_doubling,
    Algorithm.HALVING_DOUBLING: halving_doubling,
    Algorithm.HIERARCHICAL: hierarchical,
    Algorithm.TREE: tree,
    Algorithm.DOUBLE_TREE: double_tree,
    Algorithm.DISSEMINATION: dissemination,
    Algorithm.BIDIRECTIONAL_RING: bidirectional_ring,
}
"""The closed form of each algorithm, in the order in which equals are preferred."""


def closed_form(problem: Problem) -> Terms:
    """What lies on the critical path of `problem`; one rank copies its vector."""
    if problem.num_ranks == 1:
        return Terms(copied_bytes=2 * problem.moved_bytes)
    return FORMULAS[problem.spec.algorithm](problem)
