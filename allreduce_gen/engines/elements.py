"""Element types as numpy holds them: in memory as bits, in a tile as numbers.

Numpy has no BF16. In memory it is its 16 bits; in a tile it is float32 that has been
rounded to BF16. Rounding a float32 result to BF16 gives what rounding once would give
(24 bits are more than 2 * 8 + 2), so no other package is needed for exact arithmetic.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from allreduce_gen.spec import DType

from .base import Array, Bytes

_IN_MEMORY: dict[DType, np.dtype[Any]] = {
    DType.FP32: np.dtype(np.float32),
    DType.FP16: np.dtype(np.float16),
    DType.BF16: np.dtype(np.uint16),
    DType.INT32: np.dtype(np.int32),
    DType.INT16: np.dtype(np.int16),
    DType.INT8: np.dtype(np.int8),
    DType.UINT8: np.dtype(np.uint8),
    DType.UINT16: np.dtype(np.uint16),
    DType.UINT32: np.dtype(np.uint32),
    DType.INT64: np.dtype(np.int64),
    DType.UINT64: np.dtype(np.uint64),
    DType.BOOL: np.dtype(np.bool_),
}

_POISON = np.uint16(0x7FED)  # repeated, it is a quiet NaN in FP32, FP16 and BF16 alike


def memory_dtype(dtype: DType) -> np.dtype[Any]:
    """How numpy holds `dtype` in memory; BF16 as its bits."""
    return _IN_MEMORY[dtype]


def tile_dtype(dtype: DType) -> np.dtype[Any]:
    """How numpy holds `dtype` in a tile, ready for arithmetic."""
    return np.dtype(np.float32) if dtype is DType.BF16 else _IN_MEMORY[dtype]


def decode(stored: Array, dtype: DType) -> Array:
    """The numbers that `stored` holds, in memory of their own."""
    if dtype is DType.BF16:
        return (stored.astype(np.uint32) << 16).view(np.float32)
    return stored.copy()


def encode(values: Array, dtype: DType) -> Array:
    """`values` of a tile as they are stored."""
    if dtype is DType.BF16:
        return (_bits(values) >> 16).astype(np.uint16)
    return values


def round_to(values: Array, dtype: DType) -> Array:
    """`values` rounded half to even to `dtype`; integers wrap. A tile's array."""
    rounded = values.astype(tile_dtype(dtype), copy=False)
    return _round_bf16(rounded) if dtype is DType.BF16 else rounded


def _round_bf16(values: Array) -> Array:
    bits = _bits(values)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)
    kept = (rounded & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isnan(values), values, kept)


def _bits(values: Array) -> Array:
    return np.ascontiguousarray(values).view(np.uint32)


def poison(nbytes: int) -> Bytes:
    """Memory that nobody has written: NaN in every float type, and easy to recognise.

    An INT32 reads 2146271213 (0x7FED7FED) there.
    """
    return np.full((nbytes + 1) // 2, _POISON).view(np.uint8)[:nbytes]


def is_poison(values: Array, dtype: DType) -> bool:
    """Whether all of `values`, a tile's array, are as `poison` left them."""
    stored = np.ascontiguousarray(encode(values, dtype)).reshape(-1).view(np.uint8)
    return bool(np.array_equal(stored, poison(stored.size)))
