"""Algorithms in which every rank reads every peer."""

from __future__ import annotations

from allreduce_gen.costmodel.terms import Problem, Terms

from .sync import barrier_notifies


def mesh(problem: Problem) -> Terms:
    """alpha + (P-1) n (beta + gamma).

    One round: all peers' whole vectors come through one port. Derived; with a link for
    each peer it would be alpha + n beta + (P-1) n gamma.
    """
    others, n = problem.num_ranks - 1, problem.moved_bytes
    copies = problem.num_ranks + 3 if problem.pushes else 4
    return Terms(
        rounds=1,
        notifies=barrier_notifies(problem, problem.num_ranks),
        remote_bytes=others * n,
        reduced_bytes=others * problem.partial_bytes,
        copied_bytes=copies * n,
    )


def two_phase(problem: Problem) -> Terms:
    """2 alpha + 2(P-1)/P n beta + (P-1)/P n gamma.

    A reduce-scatter and an all-gather, each in one round. Chan, Heimlich, Purkayastha
    and van de Geijn 2007, with the starts of a round overlapped; one port.
    """
    share = (problem.num_ranks - 1) / problem.num_ranks
    n = problem.moved_bytes
    copies = (4 if problem.pushes else 3) + 3 / problem.num_ranks
    return Terms(
        rounds=2,
        notifies=2 * barrier_notifies(problem, problem.num_ranks),
        remote_bytes=2 * share * n,
        reduced_bytes=share * problem.partial_bytes,
        copied_bytes=copies * n,
    )


def dissemination(problem: Problem) -> Terms:
    """ceil(log2 P) alpha + (P-1) n (beta + gamma).

    Bruck, Ho, Kipnis, Upfal and Weathersby 1997: whole vectors are gathered at doubling
    distances, then combined where they are.
    """
    ranks, n = problem.num_ranks, problem.moved_bytes
    rounds = (ranks - 1).bit_length()
    return Terms(
        rounds=rounds,
        notifies=rounds,
        remote_bytes=(ranks - 1) * n,
        reduced_bytes=(ranks - 1) * problem.partial_bytes,
        copied_bytes=(2 * ranks + 2) * n,
    )
