"""Algorithms in which pairs of ranks exchange, at doubling or halving distances.

Numbers of ranks that are no power of two are folded to the next one below, which costs
two rounds more, each of the whole vector.
"""

from __future__ import annotations

from allreduce_gen.costmodel.terms import Problem, Terms

from .sync import staged_bytes


def recursive_doubling(problem: Problem) -> Terms:
    """log2 P (alpha + n beta + n gamma), and 2 alpha + 2 n beta + n gamma to fold.

    Thakur, Rabenseifner and Gropp 2005, who charge the same where P is no power of two.
    """
    core, n = core_of(problem), problem.partial_bytes
    rounds = core.bit_length() - 1
    return fold(problem, core) + Terms(
        rounds=rounds,
        notifies=rounds,
        remote_bytes=rounds * n,
        reduced_bytes=rounds * n,
        copied_bytes=staged_bytes(problem) + 2 * rounds * n,
    )


def halving_doubling(problem: Problem) -> Terms:
    """2 log2 P alpha + 2(P-1)/P n beta + (P-1)/P n gamma, and the same to fold.

    Rabenseifner's algorithm: Thakur, Rabenseifner and Gropp 2005.
    """
    core, n = core_of(problem), problem.partial_bytes
    rounds, share = core.bit_length() - 1, (core - 1) / core
    return fold(problem, core) + Terms(
        rounds=2 * rounds,
        notifies=2 * rounds,
        remote_bytes=2 * share * n,
        reduced_bytes=share * n,
        copied_bytes=staged_bytes(problem) + 3 * share * n,
    )


def core_of(problem: Problem) -> int:
    """The largest power of two that is not above the number of ranks."""
    return int(1 << (problem.num_ranks.bit_length() - 1))


def fold(problem: Problem, core: int) -> Terms:
    """What ranks outside a core add: a whole vector in, and the result out."""
    if core == problem.num_ranks:
        return Terms()
    n = problem.partial_bytes
    return Terms(
        rounds=2,
        notifies=2,
        remote_bytes=2 * n,
        reduced_bytes=n,
        copied_bytes=3 * n,
    )
