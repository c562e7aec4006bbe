"""Casts between element types, by pypto's rounding modes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from allreduce_gen.engines.base import Array
from allreduce_gen.engines.elements import round_to, tile_dtype
from allreduce_gen.spec import DType

_TO_INTEGER: dict[str, Callable[[Array], Array]] = {
    "none": np.rint,
    "rint": np.rint,
    "round": lambda values: np.trunc(values + np.copysign(0.5, values)),
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
}

MODES = tuple(_TO_INTEGER)
"""The rounding modes that `cast` knows."""


def cast(values: Array, source: DType, target: DType, mode: str) -> Array:
    """`values` of `source` in `target`, rounded by `mode`, one of MODES.

    rint rounds half to even, round half away from zero; none is rint. A float beyond
    an integer type saturates, a NaN becomes 0; integers wrap.
    """
    if target.is_float:
        return _narrow(values.astype(np.float32), target, mode)
    if source.is_float:
        return _saturate(_TO_INTEGER[mode](values.astype(np.float64)), target)
    return values.astype(tile_dtype(target))


def _saturate(values: Array, target: DType) -> Array:
    limits = np.iinfo(tile_dtype(target))
    high = float(limits.max)
    if high > limits.max:  # 64-bit limits are no doubles: take the last one within
        high = float(np.nextafter(high, 0.0))
    numbers = np.where(np.isnan(values), 0.0, values)
    return np.clip(numbers, float(limits.min), high).astype(tile_dtype(target))


def _narrow(values: Array, target: DType, mode: str) -> Array:
    """float32 `values` in a float type that is no wider."""
    nearest = round_to(values, target)
    if target is DType.FP32 or mode in ("none", "rint"):
        return nearest
    inner, outer = _neighbours(values, nearest, target)
    match mode:
        case "round":
            doubled = 2 * np.abs(values.astype(np.float64))
            tie = doubled == np.abs(inner.astype(np.float64)) + np.abs(outer)
            takes_outer = tie | (nearest == outer)
        case "floor":
            takes_outer = values < 0
        case "ceil":
            takes_outer = values > 0
        case _:
            takes_outer = np.zeros(values.shape, dtype=bool)
    exact = np.isnan(values) | (inner == values)
    return np.where(exact, nearest, np.where(takes_outer, outer, inner))


def _neighbours(values: Array, nearest: Array, target: DType) -> tuple[Array, Array]:
    """The numbers of `target` next to `values`, toward zero and away from it."""
    bits, step = (
        (nearest.view(np.uint16), np.uint16(1))
        if target is DType.FP16
        else (nearest.view(np.uint32), np.uint32(0x10000))
    )
    inner = np.where(np.abs(nearest) > np.abs(values), bits - step, bits)
    return inner.view(nearest.dtype), (inner + step).view(nearest.dtype)
