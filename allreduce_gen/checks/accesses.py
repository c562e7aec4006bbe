"""Who reads and writes which bytes of which memory."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from allreduce_gen.ir.events import Event, Load, RemoteLoad, RemoteStore, Store
from allreduce_gen.ir.memory import ByteRuns, Region, overlaps, region_bytes

from .program import Program

Instance: TypeAlias = tuple[str, int]
"""One piece of memory: a buffer's name, and the rank for a window (host memory: 0)."""


class Mode(enum.IntEnum):
    """How memory is touched. (An IntEnum, for its hash is quick.)"""

    READ = 0
    WRITE = 1
    ATOMIC = 2

    @property
    def word(self) -> str:
        """What messages call it."""
        return ("read", "write", "atomic add")[self]


class Access(NamedTuple):
    """What an event does to memory; `rank` is whose window it is, None for the host's.

    `is_sound` is False where it reaches outside its view, its buffer or the ranks.
    """

    instance: Instance
    rank: int | None
    region: Region
    mode: Mode
    runs: ByteRuns
    is_sound: bool


@dataclass(frozen=True, slots=True)
class Box:
    """The same bytes, and for each mode and agent the events that touch them."""

    runs: ByteRuns
    events: dict[Mode, dict[int, list[int]]] = field(default_factory=dict)


def read_accesses(program: Program) -> tuple[dict[int, Access], ...]:
    """For each agent: what its events do to memory, by their numbers."""
    return tuple(
        {
            at: access
            for at, event in enumerate(one.events)
            if (access := _access_of(event, one.agent.rank, program.trace.num_ranks))
        }
        for one in program.agents
    )


def _access_of(event: Event, rank: int, num_ranks: int) -> Access | None:
    if isinstance(event, Load):
        return _access(event.region, rank, Mode.READ, num_ranks)
    if isinstance(event, RemoteLoad):
        return _access(event.region, event.peer, Mode.READ, num_ranks)
    if isinstance(event, Store):
        mode = Mode.ATOMIC if event.atomic else Mode.WRITE
        return _access(event.region, rank, mode, num_ranks)
    if isinstance(event, RemoteStore):
        mode = Mode.ATOMIC if event.atomic else Mode.WRITE
        return _access(event.region, event.peer, mode, num_ranks)
    return None


def _access(region: Region, rank: int, mode: Mode, num_ranks: int) -> Access:
    buffer = region.view.buffer
    runs = region_bytes(region)
    sound = 0 <= rank < num_ranks and fits(region) and runs.end <= buffer.nbytes
    if buffer.is_window:
        return Access((buffer.name, rank), rank, region, mode, runs, sound)
    return Access((buffer.name, 0), None, region, mode, runs, sound)


def fits(region: Region) -> bool:
    """Whether `region` lies inside its view, as one without elements does."""
    if not region.num_elems:
        return True
    for offset, extent, limit in zip(
        region.offsets, region.shape, region.view.shape, strict=True
    ):
        if offset < 0 or offset + extent > limit:
            return False
    return True


def contested_boxes(
    accesses: Sequence[Mapping[int, Access]],
) -> Iterator[list[Box]]:
    """For each memory that agents share and one of them writes: its boxes, by start."""
    memories: dict[Instance, dict[ByteRuns, Box]] = {}
    for agent, mine in enumerate(accesses):
        for at, access in mine.items():
            boxes = memories.setdefault(access.instance, {})
            box = boxes.get(access.runs)
            if box is None:
                box = boxes[access.runs] = Box(access.runs)
            by_agent = box.events.setdefault(access.mode, {})
            by_agent.setdefault(agent, []).append(at)
    for boxes in memories.values():
        if _is_contested(boxes.values()):
            yield sorted(boxes.values(), key=lambda box: box.runs.start)


def _is_contested(boxes: Iterable[Box]) -> bool:
    modes = {mode for box in boxes for mode in box.events}
    agents = {
        agent for box in boxes for agents in box.events.values() for agent in agents
    }
    return len(agents) > 1 and modes != {Mode.READ}


def overlapping(boxes: list[Box]) -> Iterator[tuple[Box, Box]]:
    """Every pair of boxes that share bytes, each with itself too; `boxes` by start."""
    for number, left in enumerate(boxes):
        yield left, left
        end = left.runs.end
        for right in boxes[number + 1 :]:
            if right.runs.start >= end:
                break
            if overlaps(left.runs, right.runs):
                yield left, right


def conflicting(
    left: Box, right: Box
) -> Iterator[tuple[int, list[int], int, list[int]]]:
    """Agents of two boxes that conflict, with their events, each pair once."""
    for mode, ours in left.events.items():
        for other, theirs in right.events.items():
            if mode is other is Mode.READ:
                continue
            if left is right and mode > other:
                continue
            once = left is right and mode is other
            for agent, ats in ours.items():
                for peer, peer_ats in theirs.items():
                    if agent != peer and not (once and agent > peer):
                        yield agent, ats, peer, peer_ats
