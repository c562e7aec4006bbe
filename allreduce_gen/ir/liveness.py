"""How much of the on-chip buffer (UB) an agent's tiles take.

The rule is that of pypto's own memory planner (its MemoryReuse pass):

- a tile lives from the event that defines it to the last one that uses it; one that is
  defined before a loop and used in it lives to the loop's end; a Reshape is the same
  memory as its source;
- two tiles may share a slot where one's last use is no later than the other's
  definition, so that `acc = add(acc, contribution)` works in place; a cast to a wider
  type may not, for it would overwrite what it has not read;
- tiles are placed largest first, each into the first slot that it can share; a slot is
  as large as its first tile, rounded up to 32 bytes.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from allreduce_gen.targets import ALIGNMENT_BYTES

from .events import Cast, Event, Notify, Repeat, Reshape, Tile, Wait
from .widen import tile_defined, tiles_used


class _Lifetime(NamedTuple):
    """One piece of memory: event numbers from its definition to its last use.

    `place` is the defining event's index in the agent's own list, `widens` the number
    of the lifetime that a widening cast makes it from.
    """

    nbytes: int
    place: int
    start: int
    end: int
    widens: int | None
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TileSlot:
    """One slot of the on-chip buffer; `index` is the event that made it this large."""

    nbytes: int
    index: int


def ub_bytes(events: tuple[Event, ...]) -> int:
    """Bytes of the on-chip buffer that one agent's events take together."""
    return sum(slot.nbytes for slot in tile_slots(events))


def tile_slots(events: tuple[Event, ...]) -> tuple[TileSlot, ...]:
    """The slots that one agent's tiles are placed in, largest first."""
    return _pack(tuple(_lifetimes(events)))


def first_beyond(slots: tuple[TileSlot, ...], limit: int) -> TileSlot | None:
    """The slot with which `slots` first take more than `limit` bytes, if they do."""
    totals = itertools.accumulate(slot.nbytes for slot in slots)
    return next(
        (slot for slot, total in zip(slots, totals, strict=True) if total > limit), None
    )


@functools.lru_cache(maxsize=64)  # ranks mostly do alike
def _pack(lifetimes: tuple[_Lifetime, ...]) -> tuple[TileSlot, ...]:
    slots: list[list[_Lifetime]] = []  # each by start, largest made first
    made: list[TileSlot] = []
    for one in sorted(lifetimes, key=lambda one: (-one.nbytes, one.start)):
        if not any(_join(slot, one) for slot in slots):
            slots.append([one])
            made.append(TileSlot(nbytes=one.nbytes, index=one.place))
    return tuple(made)


def _join(slot: list[_Lifetime], one: _Lifetime) -> bool:
    """Put `one` into `slot` where it can share it with its neighbours in time."""
    at = bisect.bisect(slot, one.start, key=lambda member: member.start)
    if not all(_can_share(one, other) for other in slot[max(at - 1, 0) : at + 1]):
        return False
    slot.insert(at, one)
    return True


def _can_share(left: _Lifetime, right: _Lifetime) -> bool:
    if left.end > right.start and right.end > left.start:
        return False
    return left.widens != right.number and right.widens != left.number


def _lifetimes(events: tuple[Event, ...]) -> list[_Lifetime]:
    """The memory behind every tile; a reshaped tile shares its source's."""
    found: list[_Lifetime] = []
    owners: dict[int, int] = {}
    for number, index, loops, event in _walk(events):
        if isinstance(event, Notify | Wait):
            continue
        for tile in tiles_used(event):
            if (owner := owners.get(tile.id)) is not None:
                known = found[owner]
                end = max(known.end, _last_use(known, number, loops))
                found[owner] = known._replace(end=end)
        made = tile_defined(event)
        if made is None or made.is_scalar or made.id in owners:
            continue
        if isinstance(event, Reshape) and event.source.id in owners:
            owners[made.id] = owners[event.source.id]
            continue
        owners[made.id] = len(found)
        widens = _widened_source(event, owners)
        one = _Lifetime(
            _slot_bytes(made), index, number, number + 1, widens, len(found)
        )
        found.append(one)
    return found


def _last_use(known: _Lifetime, number: int, loops: tuple[tuple[int, int], ...]) -> int:
    """The use, or the end of the outermost loop around it that `known` outlives."""
    return max((end for start, end in loops if known.start < start), default=number)


def _widened_source(event: Event, owners: dict[int, int]) -> int | None:
    if isinstance(event, Cast) and event.tile.dtype.nbytes > event.source.dtype.nbytes:
        return owners.get(event.source.id)
    return None


def _slot_bytes(tile: Tile) -> int:
    nbytes = math.prod(tile.shape) * tile.dtype.nbytes
    return -(-nbytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


_Walked = tuple[int, int, tuple[tuple[int, int], ...], Event]


def _walk(events: tuple[Event, ...]) -> Iterator[_Walked]:
    """Every plain event: its number, its place in the list, the loops around it."""
    number = 0
    for index, event in enumerate(events):
        if isinstance(event, Repeat):
            yield from _walk_into(event, number, index, ())
            number += _num_plain(event)
        else:
            yield number, index, (), event
            number += 1


def _walk_into(
    event: Event, number: int, index: int, loops: tuple[tuple[int, int], ...]
) -> Iterator[_Walked]:
    if not isinstance(event, Repeat):
        yield number, index, loops, event
        return
    around = (*loops, (number, number + _num_plain(event)))
    for inner in event.body:
        yield from _walk_into(inner, number, index, around)
        number += _num_plain(inner)


def _num_plain(event: Event) -> int:
    if isinstance(event, Repeat):
        return sum(_num_plain(inner) for inner in event.body)
    return 1
