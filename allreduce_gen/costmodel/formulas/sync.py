"""What synchronising and staging add to every closed form."""

from __future__ import annotations

from allreduce_gen.costmodel.terms import Problem
from allreduce_gen.planner.barriers import uses_dissemination


def barrier_notifies(problem: Problem, members: int) -> int:
    """Notifies of each of `members` ranks in one barrier of them."""
    in_rounds = uses_dissemination(problem.spec, members)
    return (members - 1).bit_length() if in_rounds else members - 1


def staged_bytes(problem: Problem) -> float:
    """Local copies of a vector into a window of partial results, and out of it."""
    return 2 * (problem.moved_bytes + problem.partial_bytes)
