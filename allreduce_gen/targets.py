"""What each platform allows: on-chip memory, alignment, ranks, element types.

Source: the public documents and the source of hw-native-sys/pypto and its ISA library;
UB is the vector unit's on-chip buffer, less what the compiler holds back.
"""

from __future__ import annotations

from dataclasses import dataclass

from .spec import Accumulate, AllReduceSpec, DType, ReduceOp
from .values import name_of

ALIGNMENT_BYTES = 32
"""A tile's row, and what a window starts on, is a multiple of this."""

MAX_RANKS = 64
"""Ranks that one communication context of the runtime holds."""

MAX_SIZE = 1 << 40
"""Elements a rank: with 64 of them, byte offsets are well within 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One platform: `ub_bytes` of on-chip buffer a core, `num_cores` vector cores.

    `arithmetic` names the element types that its vector unit combines by each operator,
    `casts` those that it also converts to FP32 and back, `atomic_adds` those that a
    store can add in memory. `conversions` has, for each type, those that tiles of it
    can be cast to, in one instruction or in several that pypto makes of one cast.
    """

    name: str
    ub_bytes: int
    num_cores: int
    arithmetic: dict[ReduceOp, frozenset[DType]]
    atomic_adds: frozenset[DType]
    conversions: dict[DType, frozenset[DType]]
    casts: frozenset[DType] = frozenset({DType.FP16, DType.BF16})

    def combines(self, op: ReduceOp, dtype: DType) -> bool:
        """Whether the vector unit combines two tiles of `dtype` by `op`."""
        return dtype in self.arithmetic[op]

    def converts(self, source: DType, dtype: DType) -> bool:
        """Whether tiles of `source` can be cast to `dtype`."""
        return dtype in self.conversions.get(source, ())

    def dtypes_for(self, op: ReduceOp) -> tuple[DType, ...]:
        """Element types that `op` can reduce here, also by way of FP32."""
        direct = self.arithmetic[op]
        return tuple(one for one in DType if one in direct or one in self.casts)

    @property
    def dtypes(self) -> tuple[DType, ...]:
        """Element types that some operator can reduce here."""
        return tuple(dtype for dtype in DType if self.ops_for(dtype))

    def ops_for(self, dtype: DType) -> tuple[ReduceOp, ...]:
        """Operators that can reduce `dtype` here."""
        return tuple(op for op in ReduceOp if dtype in self.dtypes_for(op))


_A2A3 = frozenset({DType.FP32, DType.FP16, DType.INT32, DType.INT16})
_A5_WIDE = _A2A3 | {
    DType.BF16,
    DType.UINT16,
    DType.UINT32,
    DType.INT64,
    DType.UINT64,
}
_A5 = _A5_WIDE | {DType.INT8, DType.UINT8}


def _arithmetic(
    adds: frozenset[DType], multiplies: frozenset[DType]
) -> dict[ReduceOp, frozenset[DType]]:
    return {
        ReduceOp.SUM: adds,
        ReduceOp.MAX: adds,
        ReduceOp.MIN: adds,
        ReduceOp.PROD: multiplies,
        # The mean of integers would lose its fraction.
        ReduceOp.AVG: frozenset(dtype for dtype in adds if dtype.is_float),
    }


_ATOMIC = frozenset({DType.FP32, DType.FP16, DType.INT32, DType.INT16, DType.INT8})

_NARROW = frozenset({DType.INT8, DType.UINT8})
_COMMON = _A2A3 | _NARROW | {DType.BF16}
_A2A3_CASTS = {
    DType.FP32: _COMMON | {DType.INT64},
    DType.FP16: _COMMON,
    DType.BF16: _COMMON,
    DType.INT64: _COMMON,
    DType.INT32: _COMMON | {DType.INT64},
    DType.INT16: _COMMON - {DType.INT32},
    DType.INT8: frozenset({DType.FP16, DType.UINT8}),
    DType.UINT8: frozenset({DType.FP16, DType.INT8}),
}
_A5_CASTS = {one: to | {DType.UINT16} for one, to in _A2A3_CASTS.items()}
_A5_CASTS[DType.INT16] |= {DType.INT32, DType.UINT32}
_A5_CASTS[DType.INT8] |= {DType.INT32, DType.INT16}
_A5_CASTS[DType.UINT32] = _NARROW | {DType.INT16, DType.UINT16}

PLATFORMS: dict[str, Target] = {
    name: Target(
        name=name,
        ub_bytes=ub_bytes,
        num_cores=cores,
        arithmetic=_arithmetic(adds, multiplies),
        conversions=_A2A3_CASTS if name.startswith("a2a3") else _A5_CASTS,
        atomic_adds=_ATOMIC | ({DType.BF16} if name.startswith("a2a3") else set()),
    )
    for name, ub_bytes, cores, adds, multiplies in (
        ("a2a3sim", 188416, 48, _A2A3, _A2A3),
        ("a2a3", 188416, 48, _A2A3, _A2A3),
        ("a5sim", 245760, 36, _A5, _A5_WIDE),
        ("a5", 245760, 36, _A5, _A5_WIDE),
    )
}

PLATFORM_RULE = name_of("a platform", PLATFORMS)
"""What a `platform` argument takes."""


def aligned_elems(dtype: DType) -> int:
    """The fewest elements of `dtype` that fill whole 32-byte blocks."""
    return ALIGNMENT_BYTES // dtype.nbytes


def accumulator(spec: AllReduceSpec) -> DType:
    """The type in which elements are combined: 16-bit floats go through FP32.

    They keep their own where `spec` asks for it, and for maxima and minima, which never
    round, where the platform has those.
    """
    target = PLATFORMS[spec.platform]
    picks = spec.op in (ReduceOp.MAX, ReduceOp.MIN)
    keeps = picks and target.combines(spec.op, spec.dtype)
    wide = spec.dtype in target.casts and spec.accumulate is Accumulate.WIDE
    return DType.FP32 if wide and not keeps else spec.dtype
