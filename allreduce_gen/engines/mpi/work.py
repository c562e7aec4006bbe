"""What a rank gets to do, what it gives back, and how it fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from allreduce_gen.engines.base import Bytes, Counters
from allreduce_gen.errors import ExecutionError
from allreduce_gen.ir.events import Event
from allreduce_gen.ir.memory import Buffer
from allreduce_gen.ir.trace import Agent

from .hosted import Piece

Lookup: TypeAlias = Callable[[int], tuple[Event, ...]]
"""The plain events of an agent, by its place among all agents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankJob:
    """What all ranks run. `inputs` are the bytes of what the caller fills."""

    agents: tuple[Agent, ...]
    lookup: Lookup
    windows: tuple[Buffer, ...]
    inputs: Mapping[str, Bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankResult:
    """What one rank wrote to host memory, and what it did."""

    pieces: tuple[Piece, ...]
    counters: Counters


class PeerFailedError(ExecutionError):
    """Raised on a rank that could run, with what kept another rank from it."""


class OneRankFailedError(ExecutionError):
    """Raised on one rank while the others run: whoever catches it ends the job."""
