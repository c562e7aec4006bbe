"""A cost model fitted to timed runs, and how well it fits them.

The time of a run is a sum of the model's terms, so its five numbers come from linear
least squares, none of them below zero. Runs are weighted by their time: an error of ten
percent counts the same in a short run as in a long one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from .model import COEFFICIENTS, CostModel
from .terms import Terms

Row = tuple[float, ...]

_BETTER = 1 - 1e-9
"""How much smaller an error must be for one more number to be worth it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One timed run: what its closed form counts, and the seconds it took."""

    name: str
    terms: Terms
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A model and what it says of the runs that it was fitted to.

    `r_squared` is 1 where it explains all that differs between runs. `errors` has one
    entry a sample: modelled over measured, less 1. `unseen` are the numbers that came
    out as zero: these runs do not show them.
    """

    model: CostModel
    samples: tuple[Sample, ...]
    r_squared: float
    errors: tuple[float, ...]
    unseen: tuple[str, ...]

    @property
    def worst_error(self) -> float:
        return max(map(abs, self.errors))

    @property
    def median_error(self) -> float:
        ordered = sorted(map(abs, self.errors))
        return ordered[len(ordered) // 2]


def fit_model(samples: Sequence[Sample], platform: str, source: str) -> Fit:
    """The model of `platform` that fits `samples`, all of which took some time, best.

    Raises ValueError where there are fewer samples than numbers to find.
    """
    if len(samples) < len(COEFFICIENTS):
        raise ValueError(f"{len(samples)} runs for {len(COEFFICIENTS)} numbers")
    rows = [tuple(term / one.seconds for term in astuple(one.terms)) for one in samples]
    numbers = _solve_non_negative(rows)
    model = CostModel(
        platform=platform,
        is_calibrated=True,
        source=source,
        **dict(zip(COEFFICIENTS, numbers, strict=True)),
    )
    return Fit(
        model=model,
        samples=tuple(samples),
        r_squared=_r_squared(samples, model),
        errors=tuple(one.terms.seconds(model) / one.seconds - 1 for one in samples),
        unseen=tuple(
            key for key, value in zip(COEFFICIENTS, numbers, strict=True) if value == 0
        ),
    )


def _r_squared(samples: Sequence[Sample], model: CostModel) -> float:
    mean = sum(one.seconds for one in samples) / len(samples)
    spread = sum((one.seconds - mean) ** 2 for one in samples)
    missed = sum((one.seconds - one.terms.seconds(model)) ** 2 for one in samples)
    return 1 - missed / spread if spread else 0.0


def _solve_non_negative(rows: Sequence[Row]) -> Row:
    """The numbers, none negative, that bring every row nearest to 1.

    At the best point some are zero and the others solve the plain problem, so all
    choices of those others are tried: few enough, and nothing is left to luck.
    """
    width = len(rows[0])
    best, least = (0.0,) * width, float(len(rows))
    for count in range(1, width + 1):
        for used in itertools.combinations(range(width), count):
            found = _solve([tuple(row[at] for at in used) for row in rows])
            if found is None or min(found) < 0:
                continue
            whole = [0.0] * width
            for at, value in zip(used, found, strict=True):
                whole[at] = value
            error = _error(rows, whole)
            if error < least * _BETTER:
                best, least = tuple(whole), error
    return best


def _error(rows: Sequence[Row], numbers: Sequence[float]) -> float:
    return sum((_dot(row, numbers) - 1) ** 2 for row in rows)


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(one * other for one, other in zip(left, right, strict=True))


def _solve(rows: Sequence[Row]) -> Row | None:
    """Plain least squares by the normal equations, columns scaled to length 1.

    None where the columns depend on each other: the runs cannot tell them apart.
    """
    columns = list(zip(*rows, strict=True))
    lengths = [math.hypot(*column) for column in columns]
    if not all(lengths):
        return None
    scaled = [
        [value / length for value in column]
        for column, length in zip(columns, lengths, strict=True)
    ]
    system = [[*(_dot(left, right) for right in scaled), sum(left)] for left in scaled]
    solved = _eliminate(system)
    if solved is None:
        return None
    return tuple(value / length for value, length in zip(solved, lengths, strict=True))


def _eliminate(system: list[list[float]]) -> list[float] | None:
    """Gauss-Jordan with the largest pivot; None for a (nearly) singular system."""
    size = len(system)
    for at in range(size):
        pivot = max(range(at, size), key=lambda row: abs(system[row][at]))
        if abs(system[pivot][at]) < 1e-10:
            return None
        system[at], system[pivot] = system[pivot], system[at]
        system[at] = [value / system[at][at] for value in system[at]]
        for row in range(size):
            if row != at:
                factor = system[row][at]
                system[row] = [
                    value - factor * other
                    for value, other in zip(system[row], system[at], strict=True)
                ]
    return [row[-1] for row in system]
