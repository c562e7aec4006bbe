"""What is asked for: AllReduceSpec and the words it is made of."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from .values import FLAG, NUMBERS, PAIR, TEXT, WHOLE, optional, read_fields, word_of


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
    MAX = "max"
    MIN = "min"
    PROD = "prod"
    AVG = "avg"  # the sum, scaled once by 1/P


class Algorithm(enum.Enum):
    """How the data moves."""

    TWO_PHASE = "two_phase"
    MESH = "mesh"
    RING = "ring"
    BIDIRECTIONAL_RING = "bidirectional_ring"
    RECURSIVE_DOUBLING = "recursive_doubling"
    HALVING_DOUBLING = "halving_doubling"
    TREE = "tree"
    DOUBLE_TREE = "double_tree"
    HIERARCHICAL = "hierarchical"
    DISSEMINATION = "dissemination"


class Accumulate(enum.Enum):
    """The type in which 16-bit floats are combined."""

    WIDE = "wide"  # FP32, rounded once at the end
    NATIVE = "native"  # their own, rounded after every operation


class Reuse(enum.Enum):
    """What keeps windows that persist from one call to the next right."""

    ONCE = "once"  # nothing: windows are fresh at every call
    EPOCH = "epoch"  # slots only grow, and the call's number says how far
    SELF_CLEARING = "self_clearing"  # every call returns its slots to zero


class Transfer(enum.Enum):
    """Who moves data between ranks."""

    PULL = "pull"  # the reader, by remote_load
    PUSH = "push"  # the writer, by remote_store into a slot of the reader


class BarrierKind(enum.Enum):
    """How a barrier of many ranks is made."""

    ALL_PEER = "all_peer"  # everybody notifies everybody: one round
    DISSEMINATION = "dissemination"  # one notify a round, in ceil(log2 P) rounds
    AUTO = "auto"  # by the number of ranks


class Order(enum.Enum):
    """The order in which a rank combines contributions."""

    AROUND = "around"  # its own first, then its peers around the ring
    ASCENDING = "ascending"  # rank 0's first, the same on every rank


class Form(enum.Enum):
    """How the kernel is spelled."""

    PROGRAM = "program"  # a class under @pl.program
    JIT = "jit"  # functions under @pl.jit


_NAMED = ("op", "accumulate", "reuse", "form", "transfer", "barrier", "order")
"""Fields whose words a kernel's name has where they are not the default."""

_RULES = {
    "num_ranks": WHOLE,
    "size": WHOLE,
    "algorithm": word_of(Algorithm),
    "dtype": word_of(DType),
    "op": word_of(ReduceOp),
    "platform": TEXT,
    "shape": optional(NUMBERS),
    "accumulate": word_of(Accumulate),
    "reuse": word_of(Reuse),
    "form": word_of(Form),
    "transfer": word_of(Transfer),
    "barrier": word_of(BarrierKind),
    "order": optional(word_of(Order)),
    "groups": optional(PAIR),
    "tile": optional(WHOLE),
    "in_place": FLAG,
    "strict_divisible": FLAG,
    "because": TEXT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AllReduceSpec:
    """One all-reduce: `num_ranks` ranks contribute `size` elements of `dtype` each.

    Every rank gets, at each position, all ranks' elements there combined by `op`.
    `shape`, where given, is the shape of each rank's tensor and has `size` elements.
    `platform` is one of `targets.PLATFORMS`. `tile` is the most elements that one load
    or store moves, chosen from the platform's memory unless given. `strict_divisible`
    refuses a size that the ranks do not divide into whole 32-byte blocks. `groups` are,
    for two levels, how many groups of how many ranks; `order` is the algorithm's own
    unless given.
    `because` is a word on the choice of algorithm, for the kernel's docstring.

    A word stands for its member, as on the command line: `algorithm="ring"`. Raises
    SpecError (AR107) for a value that means nothing; `planner.check_spec` says whether
    a spec can be planned.
    """

    num_ranks: int
    size: int
    algorithm: Algorithm = Algorithm.TWO_PHASE
    dtype: DType = DType.FP32
    op: ReduceOp = ReduceOp.SUM
    platform: str = "a2a3sim"
    shape: tuple[int, ...] | None = None
    accumulate: Accumulate = Accumulate.WIDE
    reuse: Reuse = Reuse.ONCE
    form: Form = Form.PROGRAM
    transfer: Transfer = Transfer.PULL
    barrier: BarrierKind = BarrierKind.ALL_PEER
    order: Order | None = None
    groups: tuple[int, int] | None = None
    tile: int | None = None
    in_place: bool = False
    strict_divisible: bool = False
    because: str = ""

    def __post_init__(self) -> None:
        read_fields(self, _RULES)

    @property
    def size_bytes(self) -> int:
        """Bytes that each rank contributes."""
        return self.size * self.dtype.nbytes

    @property
    def name(self) -> str:
        """The kernel's name: `two_phase_p4_n4096_fp32`, and what is not the default."""
        default = AllReduceSpec(num_ranks=self.num_ranks, size=self.size)
        words = [
            self.algorithm.value,
            f"p{self.num_ranks}",
            f"n{self.size}" if self.shape is None else "x".join(map(str, self.shape)),
            self.dtype.value,
        ]
        for field in _NAMED:
            value = getattr(self, field)
            if value is not getattr(default, field):
                words.append(value.value)
        if self.groups is not None:
            words.append("x".join(map(str, self.groups)))
        if self.tile is not None:
            words.append(f"tile{self.tile}")
        if self.in_place:
            words.append("in_place")
        if self.platform != default.platform:
            words.append(self.platform)
        return "_".join(words)
