"""Where one algorithm becomes faster than another as vectors grow.

Every closed form is a line in the bytes of a vector, so two of them cross at most once:
mesh and two_phase, in the pure one-port model, at
n* = alpha / ((P-1) ((beta + gamma) - (2 beta + gamma) / P)).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace

from allreduce_gen.spec import Algorithm, AllReduceSpec

from .formulas import closed_form
from .model import CostModel
from .terms import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossover:
    """From `vector_bytes` a rank on, `after` is faster than `before`."""

    vector_bytes: float
    before: Algorithm
    after: Algorithm


def find_crossovers(
    spec: AllReduceSpec, algorithms: Iterable[Algorithm], model: CostModel
) -> tuple[Crossover, ...]:
    """Where the fastest of `algorithms` changes as the vectors of `spec` grow.

    Equals do not take over from each other: the first one in `algorithms` stays.
    """
    lines = {one: _line(spec, one, model) for one in algorithms}
    meets = {
        size
        for first, second in itertools.combinations(lines.values(), 2)
        if (size := _meeting(first, second)) is not None
    }
    found: list[Crossover] = []
    best = _fastest_after(0.0, lines)
    for size in sorted(meets):
        after = _fastest_after(size, lines)
        if after is not best:
            found.append(Crossover(vector_bytes=size, before=best, after=after))
            best = after
    return tuple(found)


def _line(
    spec: AllReduceSpec, algorithm: Algorithm, model: CostModel
) -> tuple[float, float]:
    """Seconds without a byte, and seconds a byte."""
    chosen = replace(spec, algorithm=algorithm)
    start, end = (
        closed_form(Problem(spec=chosen, moved_bytes=size)).seconds(model)
        for size in (0.0, 1.0)
    )
    return start, end - start


def _meeting(first: tuple[float, float], second: tuple[float, float]) -> float | None:
    """Where two lines cross at a positive size."""
    if first[1] == second[1]:
        return None
    size = (second[0] - first[0]) / (first[1] - second[1])
    return size if size > 0 else None


def _fastest_after(
    size: float, lines: dict[Algorithm, tuple[float, float]]
) -> Algorithm:
    """The lowest line at `size`, and where several meet there the flattest of them."""
    least = min(start + slope * size for start, slope in lines.values())
    near = (
        (slope, number, algorithm)
        for number, (algorithm, (start, slope)) in enumerate(lines.items())
        if start + slope * size <= least * (1 + 1e-9)
    )
    return min(near, key=lambda one: one[:2])[2]
