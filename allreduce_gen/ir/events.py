"""What one rank does, event by event.

Events name the tiles that they define and use, so that provenance, reduction order and
on-chip memory can be judged from a trace alone. No event holds a data value.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from allreduce_gen.spec import DType

from .memory import Region


class NotifyOp(enum.Enum):
    """How a notify changes the peer's slot."""

    ATOMIC_ADD = "AtomicAdd"
    SET = "Set"


class WaitCmp(enum.Enum):
    """When a wait lets go: the slot equals, or is at least, what is expected."""

    EQ = "Eq"
    GE = "Ge"


class TileOp(enum.Enum):
    """Elementwise arithmetic of the vector unit."""

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    MAX = "max"
    MIN = "min"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where an event comes from: a line of a source file, or a step of a plan."""

    file: str | None = None
    line: int | None = None
    step: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """On-chip data, defined once. `id` is unique within its agent.

    `valid` is the part that loads fill and stores write; it is `shape` unless a program
    cuts it. A tile of shape () is a scalar: it is in a register, and takes no room.
    """

    id: int
    shape: tuple[int, ...]
    dtype: DType
    valid: tuple[int, ...]

    @property
    def is_cut(self) -> bool:
        return self.valid != self.shape

    @property
    def is_scalar(self) -> bool:
        return not self.shape


_ORIGIN = field(default=Origin(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Define `tile` from the rank's own memory. `region` has the tile's valid shape."""

    tile: Tile
    region: Region
    origin: Origin = _ORIGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """Write `tile`'s valid part to the rank's own memory; `atomic` adds instead."""

    tile: Tile
    region: Region
    atomic: bool = False
    origin: Origin = _ORIGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Read(Load):
    """Load one element into a scalar. What holds for a load holds for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Write(Store):
    """Store a scalar to one element. What holds for a store holds for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteLoad:
    """Define `tile` from the window of `peer`, which may be the rank itself."""

    tile: Tile
    peer: int
    region: Region
    origin: Origin = _ORIGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteStore:
    """Write `tile`'s valid part to the window of `peer`; `atomic` adds instead."""

    tile: Tile
    peer: int
    region: Region
    atomic: bool = False
    origin: Origin = _ORIGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Combine:
    """Define `tile` as `left op right`, element by element."""

    tile: Tile
    op: TileOp
    left: Tile
    right: Tile
    origin: Origin = _ORIGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Define `tile` as `source op scalar`, element by element."""

    tile: Tile
    op: TileOp
    source: Tile
    scalar: float
    origin: Origin = _ORIGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Define `tile` as `source` in the tile's element type, rounded by `mode`."""

    tile: Tile
    source: Tile
    mode: str
    origin: Origin = _ORIGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill:
    """Define `tile` as `value` everywhere; None is a tile made but not written."""

    tile: Tile
    value: float | None
    origin: Origin = _ORIGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Reshape:
    """Define `tile` as the memory of `source` with another shape or valid part."""

    tile: Tile
    source: Tile
    origin: Origin = _ORIGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Notify:
    """Change the slot of `peer` by `value`. `slot` is one INT32 cell of the signal."""

    peer: int
    slot: Region
    value: int
    op: NotifyOp
    origin: Origin = _ORIGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Block until the rank's own slot compares with `expected`."""

    slot: Region
    expected: int
    cmp: WaitCmp
    origin: Origin = _ORIGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """`body`, `count` times: a loop that neither notifies nor waits.

    Regions in the body move by their strides each time; nothing else changes, so the
    event does not grow with its count.
    """

    count: int
    body: tuple[Event, ...]
    origin: Origin = _ORIGIN


Event: TypeAlias = (
    Load  # a Read, too
    | Store  # a Write, too
    | RemoteLoad
    | RemoteStore
    | Combine
    | Scale
    | Cast
    | Fill
    | Reshape
    | Notify
    | Wait
    | Repeat
)


def with_fields(event: Event, changes: Mapping[str, object]) -> Event:
    """`event` with some of its fields changed; each must be a field of its kind."""
    return dataclasses.replace(event, **changes)  # type: ignore[arg-type]


def event_kind(event: Event) -> str:
    """The event's word in messages: `remote_load`, `wait`."""
    name = type(event).__name__
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
