"""What each platform allows: on-chip memory, alignment, ranks, element types.

Source: the public documents and the source of hw-native-sys/pypto and its ISA library;
UB is the vector unit's on-chip buffer, less what the compiler holds back.
"""

from __future__ import annotations

from dataclasses import dataclass

from .spec import DType, ReduceOp

ALIGNMENT_BYTES = 32
"""A tile's row, and what a window starts on, is a multiple of this."""

MAX_RANKS = 64
"""Ranks that one communication context of the runtime holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One platform: `ub_bytes` of on-chip buffer a core, `num_cores` vector cores.

    `arithmetic` names the element types that its vector unit adds, multiplies and
    compares.
    """

    name: str
    ub_bytes: int
    num_cores: int
    arithmetic: frozenset[DType]

    def dtypes_for(self, op: ReduceOp) -> tuple[DType, ...]:
        """Element types that `op` can reduce here, in the order of `DType`."""
        del op  # one table serves every operator so far
        return tuple(dtype for dtype in DType if dtype in self.arithmetic)


_A2A3 = frozenset({DType.FP32})

PLATFORMS: dict[str, Target] = {
    name: Target(name=name, ub_bytes=ub_bytes, num_cores=cores, arithmetic=_A2A3)
    for name, ub_bytes, cores in (
        ("a2a3sim", 188416, 48),
        ("a2a3", 188416, 48),
        ("a5sim", 245760, 36),
        ("a5", 245760, 36),
    )
}


def aligned_elems(dtype: DType) -> int:
    """The fewest elements of `dtype` that fill whole 32-byte blocks."""
    return ALIGNMENT_BYTES // dtype.nbytes
