"""What one event reads or writes: whose memory, and which bytes in which rounds."""

from __future__ import annotations

import dataclasses
import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from allreduce_gen.ir.events import Event, Load, RemoteLoad, RemoteStore, Store
from allreduce_gen.ir.memory import (
    Buffer,
    ByteRuns,
    Region,
    View,
    overlaps,
    region_bytes,
)

from .affine import Symbol

_PAGE = 4096
"""Bytes that a ledger keeps together."""

DataEvent: TypeAlias = Load | Store | RemoteLoad | RemoteStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One event's access to the memory of `owner`.

    `number` counts the agent's events. `block` is the body that it stands in. `bytes`
    are those of the first round of the loops around that run once for all rounds;
    `rounds` has the number of each one's rounds, and how many bytes it moves by.
    """

    event: DataEvent
    number: int
    owner: int
    block: object
    bytes: ByteRuns
    rounds: tuple[tuple[int, int], ...]

    @property
    def writes(self) -> bool:
        return isinstance(self.event, Store | RemoteStore)

    @property
    def is_atomic(self) -> bool:
        return isinstance(self.event, Store | RemoteStore) and self.event.atomic

    @property
    def start(self) -> int:
        """The first byte of all rounds."""
        moves = (min(0, (count - 1) * step) for count, step in self.rounds)
        return self.bytes.start + sum(moves)

    @property
    def end(self) -> int:
        """The byte after the last one of all rounds."""
        moves = (max(0, (count - 1) * step) for count, step in self.rounds)
        return self.bytes.end + sum(moves)

    def in_each_round(self) -> Iterator[ByteRuns]:
        """The bytes of every round."""
        moves = (range(0, count * step, step) for count, step in self.rounds if step)
        for move in itertools.product(*moves):
            start = self.bytes.start + sum(move)
            yield dataclasses.replace(self.bytes, start=start)


class Ledger:
    """Accesses so far, by the pages of memory that they may touch."""

    def __init__(self) -> None:
        self._pages: dict[tuple[int, Buffer, int], list[Access]] = defaultdict(list)

    def add(self, access: Access) -> None:
        for page in _pages_of(access):
            self._pages[page].append(access)

    def before(self, access: Access) -> list[Access]:
        """The accesses that share a page with `access`, oldest first."""
        found = {
            one.number: one for page in _pages_of(access) for one in self._pages[page]
        }
        return [found[number] for number in sorted(found)]

    def forget(self, number: int) -> None:
        """Drop the accesses after the event of this number."""
        for known in self._pages.values():
            known[:] = [one for one in known if one.number <= number]


def _pages_of(access: Access) -> Iterator[tuple[int, Buffer, int]]:
    buffer = access.event.region.view.buffer
    for page in range(access.start // _PAGE, -(-access.end // _PAGE)):
        yield access.owner, buffer, page


def read_access(
    event: Event, number: int, rank: int, block: object, symbols: Sequence[Symbol]
) -> Access | None:
    """What `event` of `rank` accesses, or None where that is no data."""
    match event:
        case RemoteLoad(peer=owner) | RemoteStore(peer=owner):
            pass
        case Load() | Store():
            owner = rank
        case _:
            return None
    steps = (_moved_by(event.region, stride) for stride in event.region.strides)
    return Access(
        event=event,
        number=number,
        owner=owner,
        block=block,
        bytes=region_bytes(event.region),
        rounds=tuple((one.count, by) for one, by in zip(symbols, steps, strict=True)),
    )


def _moved_by(region: Region, stride: tuple[int, ...]) -> int:
    """How many bytes `region` moves by where its offsets move by `stride`."""
    first = dataclasses.replace(region, offsets=(0,) * len(stride))
    moved = dataclasses.replace(region, offsets=stride)
    return region_bytes(moved).start - region_bytes(first).start


def meet(first: Access, second: Access) -> bool:
    """Whether some round of one touches bytes of some round of the other.

    Exact where only one of them has rounds; too careful where both do.
    """
    if first.end <= second.start or second.end <= first.start:
        return False
    if first.rounds and second.rounds:
        return True
    return any(
        overlaps(one, other)
        for one in first.in_each_round()
        for other in second.in_each_round()
    )


def keep_to_their_round(first: Access, second: Access) -> bool:
    """Whether both touch the same box, and another one in each round."""
    if first.rounds != second.rounds or len(first.rounds) != 1:
        return False
    box, other = first.event.region, second.event.region
    is_same = _box(box) == _box(other)
    return is_same and any(
        abs(step) >= extent
        for step, extent in zip(box.strides[0], box.shape, strict=True)
    )


def _box(region: Region) -> tuple[View, tuple[int, ...], tuple[int, ...]]:
    return region.view, region.offsets, region.shape
