"""Algorithms in which partial results go down a tree, and the result up again."""

from __future__ import annotations

from allreduce_gen.costmodel.terms import Problem, Terms
from allreduce_gen.planner.double_tree import NUM_BLOCKS

from .sync import staged_bytes


def tree(problem: Problem) -> Terms:
    """2 log2 P alpha + 2 log2 P n beta + log2 P n gamma.

    A binomial reduce and a binomial broadcast (Thakur, Rabenseifner and Gropp 2005).
    For other numbers of ranks the way down has ceil(log2 P) rounds, and the way up as
    many as the most bits that are set in a rank's number.
    """
    down = (problem.num_ranks - 1).bit_length()
    up = max(rank.bit_count() for rank in range(problem.num_ranks))
    n = problem.partial_bytes
    return Terms(
        rounds=down + up,
        notifies=down + up,
        remote_bytes=(down + up) * n,
        reduced_bytes=down * n,
        copied_bytes=staged_bytes(problem) + (2 * down + up) * n,
    )


def double_tree(problem: Problem) -> Terms:
    """B(5D-1) (alpha + n/2B beta) + ((3B+1)D - B - 1) n/2B gamma, D = ceil(log2 P).

    Two trees of two children a node, each for a half of the vector, in B blocks
    (Sanders, Speck and Traff 2009, who get (2D+B) (alpha + n/2B beta) each way). A rank
    of this package's kernel deals with a block of one tree, then of the other: the next
    block waits for both trees, and blocks overlap little. Exact at powers of two; up
    to a sixth off, mostly too much, for other numbers of ranks. Blocks without elements
    are counted all the same: of fewer than eight 32-byte blocks it is far too much.
    """
    blocks, depth = NUM_BLOCKS, (problem.num_ranks - 1).bit_length()
    block_bytes = problem.partial_bytes / (2 * blocks)
    reads = blocks * (5 * depth - 1)
    adds = (3 * blocks + 1) * depth - blocks - 1
    return Terms(
        rounds=reads,
        notifies=(5 * blocks - 1) * depth - blocks,
        remote_bytes=reads * block_bytes,
        reduced_bytes=adds * block_bytes,
        copied_bytes=staged_bytes(problem) + (reads + adds) * block_bytes,
    )
