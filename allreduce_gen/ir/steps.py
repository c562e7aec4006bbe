"""What one generic rank of a plan does, step by step.

Every place, peer and guard is an expression over the plan's constants and `my_rank`:
it prints in the kernel as it evaluates in the trace.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TypeAlias

from allreduce_gen.spec import DType, ReduceOp

from .expr import ONE, ZERO, Expr, Name


class Phase(enum.Enum):
    """The part of an algorithm that a step belongs to."""

    STAGE_IN = "stage-in"
    BARRIER = "barrier"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_GATHER = "all-gather"
    STAGE_OUT = "stage-out"


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerLoop:
    """`for step in range(start, stop): name = peer`: whom a step deals with."""

    name: str
    peer: Expr
    start: Expr
    stop: Expr
    var: str = "step"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where elements lie: `window[row, at]` of `peer`, or of the rank itself.

    `at` counts elements. `window` may also be the kernel's input or output.
    """

    window: str
    at: Expr
    row: Expr = ZERO
    peer: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Elements moved: `num_tiles` full tiles of `tile` elements, then one of `tail`.

    `var` counts the full tiles where they are a loop.
    """

    tile: Expr
    num_tiles: Expr = ONE
    tail: Expr = ZERO
    var: str = "t"

    @property
    def is_looped(self) -> bool:
        """Whether there is a loop over full tiles."""
        return self.num_tiles != ONE

    @property
    def has_tail(self) -> bool:
        return self.tail != ZERO

    @property
    def tile_start(self) -> Expr:
        """Where the full tile of round `var` starts in the span."""
        return Name(self.var) * self.tile

    @property
    def tail_start(self) -> Expr:
        """Where the tail starts in the span."""
        return self.num_tiles * self.tile


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBase:
    """What all steps have: a name, a phase, and a guard that must hold (or None)."""

    name: str
    phase: Phase
    guard: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Move(StepBase):
    """Copy a span from one place to another, tile by tile, once for each peer."""

    source: Place
    target: Place
    span: Span
    tile_name: str
    peers: PeerLoop | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduce(StepBase):
    """Combine a span's own elements with each peer's, in the order of the loop."""

    own: Place
    contribution: Place
    target: Place
    span: Span
    peers: PeerLoop
    op: ReduceOp
    accumulate: DType


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyPeers(StepBase):
    """Add `value` to slot [row, my_rank] of each peer."""

    peers: PeerLoop
    row: Expr
    value: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitForPeers(StepBase):
    """Wait until each peer's slot [row, peer] here is at least `expected`."""

    peers: PeerLoop
    row: Expr
    expected: int = 1


Step: TypeAlias = Move | Reduce | NotifyPeers | WaitForPeers
