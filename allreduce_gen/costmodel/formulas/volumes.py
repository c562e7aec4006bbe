"""Bytes that cross the port of the busiest rank, which need not be one path's."""

from __future__ import annotations

from allreduce_gen.costmodel.terms import Problem
from allreduce_gen.planner.hierarchical import choose_groups
from allreduce_gen.spec import Algorithm

from .direct import dissemination, mesh, two_phase
from .doubling import core_of
from .rings import ring


def remote_bytes(problem: Problem) -> float:
    """What the busiest rank reads, or writes, of its peers; 0 for one rank.

    A vector's bytes are those that move: with the padding, where there is some.
    """
    n, ranks = problem.partial_bytes, problem.num_ranks
    match problem.spec.algorithm:
        case _ if ranks == 1:
            return 0.0
        case Algorithm.TWO_PHASE:
            return two_phase(problem).remote_bytes
        case Algorithm.MESH:
            return mesh(problem).remote_bytes
        case Algorithm.DISSEMINATION:
            return dissemination(problem).remote_bytes
        case Algorithm.RING | Algorithm.BIDIRECTIONAL_RING:
            return ring(problem).remote_bytes
        case Algorithm.RECURSIVE_DOUBLING:
            core = core_of(problem)
            return (core.bit_length() - 1) * n + _folded_in(problem, core)
        case Algorithm.HALVING_DOUBLING:
            core = core_of(problem)
            return 2 * n * (core - 1) / core + _folded_in(problem, core)
        case Algorithm.HIERARCHICAL:
            groups, members = choose_groups(problem.spec)
            core = groups * members
            return 2 * n * (core - 1) / core + _folded_in(problem, core)
        case Algorithm.TREE:
            return n * (ranks - 1).bit_length()  # the root, which reads its children
        case Algorithm.DOUBLE_TREE:
            return n * min(ranks, 4) / 2  # two children each way, of half a vector each


def _folded_in(problem: Problem, core: int) -> float:
    """A rank of the core reads the vector of one outside it."""
    return problem.partial_bytes if core < problem.num_ranks else 0.0
