"""What one generic rank of a plan does, step by step.

Every place, peer and guard is an expression over the plan's constants and `my_rank`:
it prints in the kernel as it evaluates in the trace.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from allreduce_gen.spec import DType, ReduceOp

from .constants import Factor
from .expr import ONE, ZERO, Expr, Name

INPUT, OUTPUT = "x", "y"
"""The kernel's arguments: a rank's elements, and where the result goes."""


class Phase(enum.Enum):
    """The part of an algorithm that a step belongs to."""

    STAGE_IN = "stage-in"
    BARRIER = "barrier"
    HANDSHAKE = "handshake"
    FOLD = "fold"
    EXCHANGE = "exchange"
    REDUCE = "reduce"
    BROADCAST = "broadcast"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_GATHER = "all-gather"
    STAGE_OUT = "stage-out"
    RESET = "reset"


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerLoop:
    """`for step in range(start, stop): name = peer`: whom a step deals with in turn.

    Where `var` is `name`, the loop counts the peers themselves.
    """

    name: str
    peer: Expr
    start: Expr
    stop: Expr
    var: str = "step"

    @property
    def rank(self) -> Expr:
        """The peer in turn, as the loop's body calls it."""
        return Name(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class OnePeer:
    """The one rank that a step deals with."""

    peer: Expr

    @property
    def rank(self) -> Expr:
        """The peer, as the step calls it."""
        return self.peer


Peers: TypeAlias = PeerLoop | OnePeer


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A local name that the kernel gives to an expression."""

    name: str
    value: Expr


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

    `var` counts the full tiles where they are a loop. Of the last tile only the first
    `cut` elements are moved, where that is given. Elements from `limit` on, counted in
    the target, do not exist: a tile is cut there when the kernel runs. `may_be_empty`
    says whether a tile may start there or after it, so that it is left out.
    """

    tile: Expr
    num_tiles: Expr = ONE
    tail: Expr = ZERO
    cut: Expr | None = None
    limit: Expr | None = None
    may_be_empty: bool = True
    var: str = "t"

    @property
    def is_looped(self) -> bool:
        """Whether there is a loop over full tiles."""
        return self.num_tiles != ONE

    @property
    def has_tail(self) -> bool:
        return self.tail != ZERO

    @property
    def first_start(self) -> Expr:
        """Where the first tile starts in the span."""
        return ZERO

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
    """What all steps have: a name, unique in its plan, and a guard that must hold."""

    name: str
    phase: Phase
    guard: Expr | None = None

    @property
    def kind(self) -> str:
        """The step's word for templates: `move`, `notify_peers`."""
        name = type(self).__name__
        return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """A change of element type: rounded where the new one is narrower."""

    source: DType
    target: DType

    @property
    def narrows(self) -> bool:
        return self.target.nbytes < self.source.nbytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Move(StepBase):
    """Copy a span from one place to another, tile by tile, once for each peer.

    On the way elements are multiplied by `scale`, then change their type, where these
    are given. A tile is stored once for each of `targets`, where these are given.
    """

    source: Place
    target: Place
    span: Span
    tile_name: str
    peers: Peers | None = None
    targets: Peers | None = None
    scale: Factor | None = None
    conversion: Conversion | None = None

    @property
    def vector_at(self) -> Expr:
        """Where the span starts in the vector; slots in windows start elsewhere."""
        return self.source.at if self.source.window == INPUT else self.target.at

    @property
    def cuts_after_load(self) -> bool:
        """Whether whole tiles are loaded, and cut at the limit before they are stored.

        A tile of the input ends where the input does; windows have whole blocks.
        """
        return self.span.limit is not None and self.source.window != INPUT


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduce(StepBase):
    """Combine a span's own elements with each peer's, in the order of the loop.

    Elements of `dtype` are combined in `accumulator`, widened and rounded back where
    the two differ. The result is multiplied by `scale`, where that is given.
    """

    own: Place
    contribution: Place
    target: Place
    span: Span
    peers: Peers
    op: ReduceOp
    dtype: DType
    accumulator: DType
    scale: Factor | None = None

    @property
    def vector_at(self) -> Expr:
        """Where the span starts in the vector; slots in windows start elsewhere."""
        return self.target.at

    @property
    def is_widened(self) -> bool:
        return self.accumulator is not self.dtype

    @property
    def starts_from_peer(self) -> bool:
        """Whether the first two operands are both peers' tiles, as they came."""
        return self.own.peer is not None and not self.is_widened

    @property
    def second(self) -> Place:
        """The contribution of the first peer."""
        peers = self.peers
        peer = peers.start if isinstance(peers, PeerLoop) else peers.peer
        return replace(self.contribution, peer=peer)

    @property
    def later_peers(self) -> PeerLoop | None:
        """The peers after the first one."""
        if not isinstance(self.peers, PeerLoop):
            return None
        return replace(self.peers, start=self.peers.start + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyPeers(StepBase):
    """Add `value` to slot [row, my_rank] of each peer."""

    peers: Peers
    row: Expr
    value: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitForPeers(StepBase):
    """Wait until each peer's slot [row, peer] here is at least `expected`."""

    peers: Peers
    row: Expr
    expected: Expr = ONE


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearSlots(StepBase):
    """Lower this rank's own slots [row, peer] by one, `num_rows` rows from `row` on."""

    peers: Peers
    num_rows: Expr = ONE
    row: Expr = ZERO


@dataclass(frozen=True, slots=True, kw_only=True)
class Block(StepBase):
    """Steps under one guard, or once for each of `rounds` rounds counted by `var`.

    `bindings` are named anew each time, before the steps.
    """

    body: tuple[Step, ...]
    bindings: tuple[Binding, ...] = ()
    rounds: Expr = ONE
    var: str = "round"

    @property
    def is_looped(self) -> bool:
        return self.rounds != ONE


Leaf: TypeAlias = Move | Reduce | NotifyPeers | WaitForPeers | ClearSlots
Step: TypeAlias = Leaf | Block


def leaves(steps: Iterable[Step]) -> Iterator[Leaf]:
    """The steps that are no blocks, in program order, those of blocks included."""
    for step in steps:
        if isinstance(step, Block):
            yield from leaves(step.body)
        else:
            yield step
