"""Host memory as one rank's process has it: the parts that its events touch."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from allreduce_gen.engines.base import Array, Bytes
from allreduce_gen.engines.elements import decode, poison
from allreduce_gen.engines.simulator.memory import Write, apply, box
from allreduce_gen.ir.events import Event, Store
from allreduce_gen.ir.memory import Region, region_bytes
from allreduce_gen.ir.widen import regions


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Bytes from `start` on of the host buffer `name`, as a rank has written them."""

    name: str
    start: int
    content: Bytes


class HostMemory:
    """What one rank sees of each host buffer: the hull of its accesses.

    Inputs hold the caller's values, all else is poison until it is written.
    """

    def __init__(
        self, programs: Sequence[tuple[Event, ...]], inputs: Mapping[str, Bytes]
    ) -> None:
        self._starts: dict[str, int] = {}
        self._parts: dict[str, Bytes] = {}
        self._written: dict[str, list[tuple[int, int]]] = {}
        for name, (start, end) in _hulls(programs).items():
            self._starts[name] = start
            self._parts[name] = (
                inputs[name][start:end].copy()
                if name in inputs
                else _poison(start, end)
            )
        for name, run in _stores(programs):
            self._written.setdefault(name, []).append(run)

    def read(self, region: Region) -> Array:
        """The numbers of `region`, in memory of their own."""
        part, moved = self._locate(region)
        return decode(box(part, moved), region.view.dtype)

    def write(self, write: Write) -> None:
        part, moved = self._locate(write.region)
        apply(dataclasses.replace(write, region=moved), part)

    def pieces(self) -> Iterator[Piece]:
        """Everything that this rank has stored in host memory."""
        for name, runs in self._written.items():
            offset, part = self._starts[name], self._parts[name]
            for start, end in _merge(runs):
                content = part[start - offset : end - offset]
                yield Piece(name=name, start=start, content=content)

    def _locate(self, region: Region) -> tuple[Bytes, Region]:
        name = region.view.buffer.name
        view = region.view
        moved = dataclasses.replace(view, start=view.start - self._starts[name])
        return self._parts[name], dataclasses.replace(region, view=moved)


def _poison(start: int, end: int) -> Bytes:
    """Bytes `start` to `end` of poisoned memory; its pattern has two bytes."""
    odd = start % 2
    return poison(end - start + odd)[odd:].copy()


def _host_regions(
    programs: Iterable[tuple[Event, ...]],
) -> Iterator[tuple[Event, Region]]:
    for events in programs:
        for event in events:
            for region in regions(event):
                if not region.view.buffer.is_window:
                    yield event, region


def _hulls(programs: Iterable[tuple[Event, ...]]) -> dict[str, tuple[int, int]]:
    hulls: dict[str, tuple[int, int]] = {}
    for _, region in _host_regions(programs):
        touched, name = region_bytes(region), region.view.buffer.name
        start, end = hulls.get(name, (touched.start, touched.end))
        hulls[name] = min(start, touched.start), max(end, touched.end)
    return hulls


def _stores(
    programs: Iterable[tuple[Event, ...]],
) -> Iterator[tuple[str, tuple[int, int]]]:
    for event, region in _host_regions(programs):
        if isinstance(event, Store):
            for run in region_bytes(region).runs():
                yield region.view.buffer.name, run


def _merge(runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same bytes in as few runs as there can be, ascending."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(set(runs)):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def assemble(start: Mapping[str, Bytes], pieces: Iterable[Piece]) -> dict[str, Bytes]:
    """Whole buffers: those of `start`, and over them what the ranks have written."""
    whole = {name: content.copy() for name, content in start.items()}
    for piece in pieces:
        end = piece.start + piece.content.size
        whole[piece.name][piece.start : end] = piece.content
    return whole
