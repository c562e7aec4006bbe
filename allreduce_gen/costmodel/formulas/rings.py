"""Algorithms in which every rank deals with its neighbours only."""

from __future__ import annotations

from allreduce_gen.costmodel.terms import Problem, Terms

from .sync import staged_bytes


def ring(problem: Problem) -> Terms:
    """2(P-1) alpha + 2(P-1)/P n beta + (P-1)/P n gamma.

    Patarasuk and Yuan 2009: the least bytes that there are, in the most rounds. One
    notify a round, to the right neighbour.
    """
    others, n = problem.num_ranks - 1, problem.partial_bytes
    share = others / problem.num_ranks
    return Terms(
        rounds=2 * others,
        notifies=2 * others,
        remote_bytes=2 * share * n,
        reduced_bytes=share * n,
        copied_bytes=staged_bytes(problem) + 3 * share * n,
    )


def bidirectional_ring(problem: Problem) -> Terms:
    """2(P-1) alpha + 2(P-1)/P n beta + (P-1)/P n gamma.

    Two rings of half the bytes each, whose rounds overlap: a ring's time at one port,
    with a notify to each neighbour a round.
    """
    one_way = ring(problem)
    return one_way + Terms(notifies=one_way.notifies)
