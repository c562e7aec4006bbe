"""Two levels: within groups, and across them."""

from __future__ import annotations

from allreduce_gen.costmodel.terms import Problem, Terms
from allreduce_gen.planner.hierarchical import choose_groups

from .doubling import fold
from .sync import barrier_notifies, staged_bytes


def hierarchical(problem: Problem) -> Terms:
    """4 alpha + 2(P-1)/P n beta + (P-1)/P n gamma, whatever the groups.

    Of G groups of S: 2(S-1)/S n beta within, 2(G-1)/G (n/S) beta across. Derived; a
    pattern of large clusters. Here both levels have the same alpha and beta. A level of
    one rank has no rounds.
    """
    groups, members = choose_groups(problem.spec)
    core, n = groups * members, problem.partial_bytes
    inside, across = n * (members - 1) / members, n * (groups - 1) / core
    own = n / members * (members > 1) + n / core * (groups > 1)
    return fold(problem, core) + Terms(
        rounds=2 * ((members > 1) + (groups > 1)),
        notifies=2 * sum(barrier_notifies(problem, one) for one in (members, groups)),
        remote_bytes=2 * (inside + across),
        reduced_bytes=inside + across,
        copied_bytes=staged_bytes(problem) + 2 * own + inside + across,
    )
