"""The right answer: test inputs, their all-reduce by numpy, and how near is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

import numpy as np

from allreduce_gen.spec import DType, ReduceOp

from .base import Array
from .elements import round_to, tile_dtype

_STEP, _RANK_STEP = 3, 1009
_LARGEST_MODULUS = 65521  # a prime: no chunk of a round size is a multiple of it
_SIGNS_MODULUS = 67  # a prime above the most ranks, so that one rank at most has a 2

_EXACT_INTEGERS = {DType.FP32: 1 << 24, DType.FP16: 1 << 11, DType.BF16: 1 << 8}
_ROUNDOFF = {DType.FP32: 2.0**-24, DType.FP16: 2.0**-11, DType.BF16: 2.0**-8}

_REDUCTIONS: dict[ReduceOp, Callable[[Array], Array]] = {
    ReduceOp.SUM: lambda wide: wide.sum(axis=0),
    ReduceOp.MAX: lambda wide: wide.max(axis=0),
    ReduceOp.MIN: lambda wide: wide.min(axis=0),
    ReduceOp.PROD: lambda wide: wide.prod(axis=0),
    ReduceOp.AVG: lambda wide: wide.mean(axis=0),
}


def make_inputs(
    *, num_ranks: int, size: int, dtype: DType, op: ReduceOp = ReduceOp.SUM
) -> Array:
    """Inputs [num_ranks, size] that `op` reduces exactly in `dtype`, in any order.

    They come from `(3 * index + 1009 * rank) mod m` with a prime m: neighbouring ranks,
    elements, tiles and chunks differ. All are below zero for max and above it for min,
    so that a reduction which starts from zero shows; prod gets 1, -1 and few 2s.
    Integers may wrap, which is exact too; an average is rounded once.
    """
    index = np.arange(size, dtype=np.int64)[np.newaxis, :]
    rank = np.arange(num_ranks, dtype=np.int64)[:, np.newaxis]
    pattern = _STEP * index + _RANK_STEP * rank
    modulus = _choose_modulus(num_ranks, dtype, op)
    residues = pattern % modulus
    match op:
        case ReduceOp.SUM | ReduceOp.AVG:
            values = residues
        case ReduceOp.MAX:
            values = residues - modulus
        case ReduceOp.MIN:
            values = residues + 1
        case ReduceOp.PROD:
            values = np.where(residues == 0, 2, np.where(residues % 2, -1, 1))
        case _:
            assert_never(op)
    return round_to(values, dtype)


def _choose_modulus(num_ranks: int, dtype: DType, op: ReduceOp) -> int:
    """The largest prime with exact results that differ from position to position."""
    if op is ReduceOp.PROD:
        return _SIGNS_MODULUS
    exact = _EXACT_INTEGERS.get(dtype)
    largest = exact or int(np.iinfo(tile_dtype(dtype)).max)
    adds_up = exact is not None and op in (ReduceOp.SUM, ReduceOp.AVG)
    return next(
        m
        for m in range(min(largest, _LARGEST_MODULUS), 1, -1)
        if not (adds_up and _largest_sum(m, num_ranks) > largest)
        and num_ranks % m
        and m not in (_STEP, _RANK_STEP)
        and all(m % divisor for divisor in range(2, int(m**0.5) + 1))
    )


def _largest_sum(modulus: int, num_ranks: int) -> int:
    """Any `modulus` ranks in a row hold every residue once; the rest hold the top."""
    rounds, rest = divmod(num_ranks, modulus)
    whole = modulus * (modulus - 1) // 2
    return rounds * whole + rest * (modulus - 1) - rest * (rest - 1) // 2


def make_random_inputs(
    *,
    num_ranks: int,
    size: int,
    dtype: DType,
    op: ReduceOp = ReduceOp.SUM,
    seed: int = 0,
) -> Array:
    """Inputs [num_ranks, size]: normal real numbers, or integers of the whole range.

    Factors of a product are real numbers near 1, so that it stays within every type.
    """
    draw, shape = np.random.default_rng(seed), (num_ranks, size)
    if not dtype.is_float:
        held = tile_dtype(dtype)
        limits = np.iinfo(held)
        return draw.integers(limits.min, limits.max, shape, held, endpoint=True)
    if op is ReduceOp.PROD:
        return round_to(2.0 ** draw.uniform(-0.5, 0.5, shape), dtype)
    return round_to(draw.standard_normal(shape), dtype)


def reference_all_reduce(inputs: Array, dtype: DType, op: ReduceOp) -> Array:
    """`inputs` [ranks, size] of `dtype` reduced to [size], rounded once at the end."""
    with np.errstate(all="ignore"):
        wide = inputs.astype(_widest(dtype))
        return round_to(_REDUCTIONS[op](wide), dtype)


def _widest(dtype: DType) -> type[np.generic]:
    """What loses nothing of `dtype`, as far as numpy has it."""
    if dtype.is_float:
        return np.float64
    return np.uint64 if tile_dtype(dtype).kind == "u" else np.int64


def tolerance(dtype: DType, num_ranks: int, op: ReduceOp) -> float:
    """How far a right result may be off, relative to what its magnitudes reduce to.

    P terms or factors are rounded P - 1 times, each by at most half a unit in the last
    place (Higham, Accuracy and Stability, section 4.2), and the reference rounds once;
    an average rounds 1/P and the product with it too. Integers, maxima and minima are
    exact.
    """
    roundoff = _ROUNDOFF.get(dtype, 0.0)
    match op:
        case ReduceOp.MAX | ReduceOp.MIN:
            return 0.0
        case ReduceOp.SUM | ReduceOp.PROD:
            return num_ranks * roundoff
        case ReduceOp.AVG:
            return (num_ranks + 2) * roundoff
        case _:
            assert_never(op)


def rounding_bound(inputs: Array, dtype: DType, op: ReduceOp) -> Array:
    """How far each of the [size] elements may be off for `inputs` [ranks, size]."""
    magnitudes = _REDUCTIONS[op](np.abs(inputs.astype(np.float64)))
    return np.asarray(tolerance(dtype, inputs.shape[0], op) * magnitudes)
