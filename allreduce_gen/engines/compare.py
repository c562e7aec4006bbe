"""Whether every rank got the right result."""

from __future__ import annotations

import numpy as np

from allreduce_gen.diagnostics import Diagnostic, Location, Note, codes, diagnose
from allreduce_gen.spec import DType

from .base import Array
from .elements import is_poison

_HELP = "run `allreduce-gen check` on the program: it names the race or what is missing"


def compare_with_reference(
    result: Array,
    expected: Array,
    *,
    dtype: DType,
    bound: Array | float = 0.0,
    name: str = "y",
) -> Diagnostic | None:
    """AR802 where a rank's row of `result` [ranks, size] is not `expected` [size].

    Elements may differ by `bound`, one for all or [size]; NaN equals NaN. The finding
    names the first wrong element and how many there are.
    """
    if result.shape[1:] != expected.shape:
        wanted = f"[ranks, {expected.size}]"
        message = f"{name} has shape {list(result.shape)}, wanted {wanted}"
        return diagnose(codes.AR802, message, help=_HELP)
    rows = [np.flatnonzero(_differs(row, expected, bound)) for row in result]
    wrong = {rank: indices for rank, indices in enumerate(rows) if indices.size}
    if not wrong:
        return None
    rank, first = next((rank, int(indices[0])) for rank, indices in wrong.items())
    got = result[rank, first]
    total = sum(indices.size for indices in wrong.values())
    return diagnose(
        codes.AR802,
        f"rank {rank}, {name}[{first}]: wanted {expected[first]}, got {got}; "
        f"{total} of {result.size} elements differ, on {len(wrong)} of "
        f"{len(result)} ranks",
        help=_HELP,
        location=Location(rank=rank),
        notes=_unwritten_note(np.asarray(got), dtype),
    )


def _differs(row: Array, expected: Array, bound: Array | float) -> Array:
    same = row == expected
    if row.dtype.kind == "f" and not same.all():
        with np.errstate(invalid="ignore"):  # between two infinities
            distance = np.abs(row.astype(np.float64) - expected.astype(np.float64))
        same |= (distance <= bound) | (np.isnan(row) & np.isnan(expected))
    return np.asarray(~same)


def _unwritten_note(got: Array, dtype: DType) -> tuple[Note, ...]:
    if not is_poison(got, dtype):
        return ()
    return (Note(label="cause", text="that element was never written"),)
