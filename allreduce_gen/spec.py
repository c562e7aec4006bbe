"""What is asked for: AllReduceSpec and the words it is made of."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class DType(enum.Enum):
    """Element types, by pypto's names."""

    FP32 = "fp32"
    FP16 = "fp16"
    BF16 = "bf16"
    INT32 = "int32"
    INT16 = "int16"
    INT8 = "int8"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    INT64 = "int64"
    UINT64 = "uint64"
    BOOL = "bool"

    @property
    def nbytes(self) -> int:
        """Bytes of one element."""
        return _BYTES[self]

    @property
    def is_float(self) -> bool:
        return self in (DType.FP32, DType.FP16, DType.BF16)


_BYTES = {
    DType.FP32: 4,
    DType.FP16: 2,
    DType.BF16: 2,
    DType.INT32: 4,
    DType.INT16: 2,
    DType.INT8: 1,
    DType.UINT8: 1,
    DType.UINT16: 2,
    DType.UINT32: 4,
    DType.INT64: 8,
    DType.UINT64: 8,
    DType.BOOL: 1,
}


class ReduceOp(enum.Enum):
    """How elements at the same position are combined."""

    SUM = "sum"


class Algorithm(enum.Enum):
    """How the data moves."""

    TWO_PHASE = "two_phase"


@dataclass(frozen=True, slots=True, kw_only=True)
class AllReduceSpec:
    """One all-reduce: `num_ranks` ranks contribute `size` elements of `dtype` each.

    Every rank gets, at each position, all ranks' elements there combined by `op`.
    `platform` is one of `targets.PLATFORMS`. A spec is data: `planner.check_spec`
    says whether it can be planned.
    """

    num_ranks: int
    size: int
    algorithm: Algorithm = Algorithm.TWO_PHASE
    dtype: DType = DType.FP32
    op: ReduceOp = ReduceOp.SUM
    platform: str = "a2a3sim"

    @property
    def size_bytes(self) -> int:
        """Bytes that each rank contributes."""
        return self.size * self.dtype.nbytes

    @property
    def name(self) -> str:
        """The kernel's name: `two_phase_p4_n4096_fp32`."""
        parts = [
            self.algorithm.value,
            f"p{self.num_ranks}",
            f"n{self.size}",
            self.dtype.value,
        ]
        if self.op is not ReduceOp.SUM:
            parts.append(self.op.value)
        return "_".join(parts)
