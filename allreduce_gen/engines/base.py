"""What every engine takes and gives back."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from allreduce_gen.spec import DType
from allreduce_gen.values import (
    DEVICES,
    SECONDS,
    WHOLE,
    optional,
    read_fields,
    word_of,
)

Array: TypeAlias = npt.NDArray[Any]
Bytes: TypeAlias = npt.NDArray[np.uint8]
ProgramT = TypeVar("ProgramT", contravariant=True)


class EngineName(enum.Enum):
    """What runs a program."""

    SIMULATOR = "simulator"  # here, in this process
    MPI = "mpi"  # a process a rank, on one machine or several
    PYPTO = "pypto"  # hw-native-sys/pypto, on its simulator or on devices


ENGINE_RULE = word_of(EngineName)
"""What an `engine` argument takes."""


class Schedule(enum.Enum):
    """In what order the simulator lets ranks run, and when it shows their stores."""

    ROUND_ROBIN = "round-robin"  # an event each, in turn
    RANDOM = "random"  # bursts of events, drawn from the seed
    ONE_RANK_LATE = "one-rank-late"  # one rank only moves when all others are blocked
    STORES_LATE = "stores-late"  # random; peers see a store at the next notify
    BOTH_LATE = "both-late"  # one rank late, and stores late

    @property
    def holds_back_stores(self) -> bool:
        return self in (Schedule.STORES_LATE, Schedule.BOTH_LATE)

    @property
    def has_late_rank(self) -> bool:
        return self in (Schedule.ONE_RANK_LATE, Schedule.BOTH_LATE)


_OPTION_RULES = {
    "seed": WHOLE,
    "schedule": word_of(Schedule),
    "timeout": optional(SECONDS),
    "devices": optional(DEVICES),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How to run.

    The simulator goes by `schedule`; the late rank, where there is one, is `seed`
    modulo the ranks. An engine with processes of its own ends them after `timeout`
    seconds. pypto runs on `devices`, one a rank; 0, 1, ... unless given.

    A word stands for its member: `schedule="both-late"`. Raises SpecError (AR107) for a
    value that means nothing.
    """

    seed: int = 0
    schedule: Schedule = Schedule.RANDOM
    timeout: float | None = None
    devices: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        read_fields(self, _OPTION_RULES)


DEFAULT_OPTIONS = RunOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTensor:
    """One tensor that a program takes from its caller, for all ranks."""

    name: str
    shape: tuple[int, ...]
    dtype: DType
    is_written: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceProgram:
    """A program as its file has it, for an engine that compiles it itself.

    `text` is the file's where there is no such file yet; `file` is then its name.
    `scalars` are the names of the INT32 arguments after the tensors; each is the number
    of the call.
    """

    file: Path
    name: str
    platform: str
    num_ranks: int
    tensors: tuple[HostTensor, ...]
    scalars: tuple[str, ...] = ()
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """What one rank did. `remote_bytes` leaves out what it moved to or from itself."""

    events: int
    notifies: int
    waits: int
    remote_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """Every host buffer that a run wrote, and one Counters a rank.

    An output has shape [ranks, elements], or [elements] where the ranks do not divide
    it. BF16 comes as float32 that holds BF16 values; a buffer that no event touches
    has no element type and comes as bytes.
    """

    outputs: Mapping[str, Array]
    counters: tuple[Counters, ...]


class Engine(Protocol[ProgramT]):
    """Runs a program, be it a trace or a source file, on arrays by buffer name.

    Raises EngineError with what went wrong.
    """

    def __call__(
        self,
        program: ProgramT,
        inputs: Mapping[str, Array],
        options: RunOptions = DEFAULT_OPTIONS,
        /,
    ) -> RunResult: ...
