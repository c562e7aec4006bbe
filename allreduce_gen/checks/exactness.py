"""Which changes of an element on its way lose nothing: casts, and the mean's factor."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

from allreduce_gen.spec import DType

SCALE_TOL = 2.0**-20  # a factor is written in decimal, and held in FP32
_DIGITS = {DType.FP32: 24, DType.FP16: 11, DType.BF16: 8}
UNSIGNED = (DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64, DType.BOOL)


def holds(dtype: DType, source: DType) -> bool:
    """Whether every value of type `source` is one of `dtype`, too."""
    if source.is_float:
        return dtype in (source, DType.FP32)
    signed = source not in UNSIGNED
    if dtype.is_float:
        return _bits(source) - signed <= _DIGITS[dtype]
    if dtype in UNSIGNED:
        return not signed and _bits(source) <= _bits(dtype)
    return _bits(source) - signed < _bits(dtype)


def _bits(integer: DType) -> int:
    return 1 if integer is DType.BOOL else 8 * integer.nbytes


def narrowed(
    casts: Iterable[DType], sources: Iterable[DType], target: DType
) -> tuple[tuple[DType, DType], ...]:
    """The casts that cannot hold what goes in, as (from, to).

    What the output's own type cannot hold is not lost on the way there; reals that
    become integers are.
    """
    return tuple(
        (source, dtype)
        for source, dtype in itertools.product(sources, casts)
        if not holds(dtype, source)
        and (dtype is not target or (source.is_float and not dtype.is_float))
    )


def common_scale(scales: Iterable[float], num_ranks: int) -> float | None:
    """The one factor of all elements; None where they differ.

    It is exactly 1 or 1 / `num_ranks` where it is as near as it can be written.
    """
    first, *others = tuple(scales) or (1.0,)
    if not all(math.isclose(first, one, rel_tol=SCALE_TOL) for one in others):
        return None
    for right in (1.0, 1 / num_ranks):
        if math.isclose(first, right, rel_tol=SCALE_TOL):
            return right
    return first
