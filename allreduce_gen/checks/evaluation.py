"""The program run on symbolic values, in the order of the canonical replay."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeAlias, assert_never

from allreduce_gen.ir.events import (
    Cast,
    Combine,
    Event,
    Fill,
    Load,
    Notify,
    RemoteLoad,
    RemoteStore,
    Repeat,
    Reshape,
    Scale,
    Store,
    Tile,
    TileOp,
    Wait,
)
from allreduce_gen.ir.memory import Buffer, BufferKind, Region, View, region_bytes
from allreduce_gen.spec import DType

from .accesses import Access, Instance, Mode
from .analysis import Analysis
from .program import Point
from .segments import Held, Memory, Run, zip_runs
from .values import Constant, Unknown, Unwritten, Value, Values

_Span: TypeAlias = tuple[int, int, int]
"""First byte in memory, first element in the tile, number of elements."""

_FILLED = (BufferKind.INPUT, BufferKind.INOUT)


class Evaluation:
    """What every piece of memory holds in the end."""

    def __init__(self, analysis: Analysis) -> None:
        self.values = Values()
        self.num_ranks = analysis.trace.num_ranks
        self._analysis = analysis
        self._buffers = {one.name: one for one in analysis.trace.buffers}
        self._signals = {
            event.slot.view.buffer.name
            for agent in analysis.program.agents
            for event in agent.events
            if isinstance(event, Notify)
        }
        self._memories: dict[Instance, Memory] = {}
        self._tiles: dict[tuple[int, int], list[Run]] = {}
        for point in analysis.replay.order:
            event = analysis.program.agents[point.agent].events[point.at]
            self._step(point, event)

    def memory(self, instance: Instance, buffer: Buffer) -> Memory:
        """One piece of memory, made as it is at the start where nobody touched it."""
        known = self._memories.get(instance)
        if known is None:
            if buffer.kind in _FILLED:
                value = self.values.leaf(buffer.name)
            else:
                value = self.values.uniform(Unwritten(buffer.name, None))
            known = Memory(buffer.nbytes, Held(value, None, None))
            self._memories[instance] = known
        return known

    def _step(self, point: Point, event: Event) -> None:
        values = self.values
        match event:
            case Notify() | Wait() | Repeat():
                pass
            case Load(tile=tile) | RemoteLoad(tile=tile):
                self._define(point, tile, self._load(point, tile))
            case Store(tile=tile) | RemoteStore(tile=tile):
                self._store(point, tile)
            case Combine(tile=tile):
                self._define(point, tile, self._combine(point, event))
            case Scale(tile=tile, op=op, source=source, scalar=scalar):
                runs, dtype = self._runs(point, source), tile.dtype
                self._define(
                    point,
                    tile,
                    [
                        _with(run, values.scale(op, run.value, scalar, dtype))
                        for run in runs
                    ],
                )
            case Cast(tile=tile, source=source, mode=mode):
                runs = self._runs(point, source)
                self._define(
                    point,
                    tile,
                    [
                        _with(run, values.round(run.value, tile.dtype, mode))
                        for run in runs
                    ],
                )
            case Fill(tile=tile, value=value):
                self._define(point, tile, self._fill(tile, value))
            case Reshape(tile=tile, source=source):
                self._define(point, tile, self._runs(point, source))
            case _:
                assert_never(event)

    def _define(self, point: Point, tile: Tile, runs: list[Run]) -> None:
        self._tiles[point.agent, tile.id] = runs

    def _runs(self, point: Point, tile: Tile) -> list[Run]:
        return self._tiles.get((point.agent, tile.id), [])

    def _fill(self, tile: Tile, value: float | None) -> list[Run]:
        if value is None:
            return []
        return _whole(tile, self.values.uniform(Constant(value)))

    def _combine(self, point: Point, event: Combine) -> list[Run]:
        values = self.values
        if event.left.shape != event.right.shape:
            why = "tiles of different shapes combined"
            return _whole(event.tile, values.uniform(Unknown(why)))
        left, right = self._runs(point, event.left), self._runs(point, event.right)
        return [
            Run(start, stop, values.combine(event.op, mine, other))
            for start, stop, mine, other in zip_runs(left, right)
        ]

    def _load(self, point: Point, tile: Tile) -> list[Run]:
        access = self._analysis.accesses[point.agent][point.at]
        if not access.is_sound:
            return _whole(tile, self.values.faulty)
        memory, size = self._memory_of(access), tile.dtype.nbytes
        runs: list[Run] = []
        for byte, first, count in _spans(access, tile):
            by = byte // size - first
            for start, stop, held in memory.read(byte, byte + count * size):
                value = self.values.move(self._seen(point, access, held), by)
                runs.append(Run(start // size - by, stop // size - by, value))
        return runs

    def _seen(self, point: Point, access: Access, held: Held) -> Value:
        """What a load that is `point` makes of `held`."""
        dtype, stored = access.region.view.dtype, held.dtype
        is_cut = stored is not None and stored.nbytes != dtype.nbytes
        if is_cut or access.region.view.start % dtype.nbytes:
            return self.values.uniform(Unknown("bytes of another element type"))
        node = self.values.nodes[held.value.node]
        if isinstance(node, Unwritten) and node.reader is None:
            if access.region.view.buffer.name in self._signals:
                # A slot counts from zero, and what it counts is no data.
                return self.values.uniform(Unknown("what a slot counts"))
            return self.values.uniform(Unwritten(node.what, point))
        return self.as_type(held, dtype)

    def as_type(self, held: Held, dtype: DType) -> Value:
        """What is `held`, read as elements of type `dtype`."""
        if held.dtype in (None, dtype):
            return held.value
        assert held.dtype is not None
        return self.values.recast(held.value, held.dtype, dtype)

    def _store(self, point: Point, tile: Tile) -> None:
        access = self._analysis.accesses[point.agent][point.at]
        if not access.is_sound:
            return
        dtype = tile.dtype
        memory, size = self._memory_of(access), dtype.nbytes
        runs = self._runs(point, tile)
        for byte, first, count in _spans(access, tile):
            by = first - byte // size
            for start, stop, value in self._cover(point, runs, first, first + count):
                moved = self.values.move(value, by)
                span = ((start - by) * size, (stop - by) * size)
                if access.mode is Mode.ATOMIC:
                    self._add(point, access, memory, span, moved)
                else:
                    memory.write(*span, Held(moved, dtype, point))

    def _cover(
        self, point: Point, runs: list[Run], start: int, stop: int
    ) -> Iterator[Run]:
        """The runs of a tile from `start` to `stop`, its gaps as unwritten ones."""
        for run in runs:
            first, last = max(run.start, start), min(run.stop, stop)
            if first < last:
                if start < first:
                    yield Run(start, first, self._gap(point))
                yield Run(first, last, run.value)
                start = last
        if start < stop:
            yield Run(start, stop, self._gap(point))

    def _gap(self, point: Point) -> Value:
        return self.values.uniform(Unwritten("a tile", point))

    def _add(
        self,
        point: Point,
        access: Access,
        memory: Memory,
        span: tuple[int, int],
        value: Value,
    ) -> None:
        """Add `value` to what memory holds; a window starts at zero."""
        dtype = access.region.view.dtype
        for start, stop, held in list(memory.read(*span)):
            node = self.values.nodes[held.value.node]
            if isinstance(node, Unwritten) and access.region.view.buffer.is_window:
                total = value
            else:
                seen = self._seen(point, access, held)
                total = self.values.combine(TileOp.ADD, seen, value, atomic=True)
            memory.write(start, stop, Held(total, dtype, point))

    def _memory_of(self, access: Access) -> Memory:
        return self.memory(access.instance, access.region.view.buffer)


def _with(run: Run, value: Value) -> Run:
    return Run(run.start, run.stop, value)


def _whole(tile: Tile, value: Value) -> list[Run]:
    return [Run(0, math.prod(tile.shape), value)]


def _spans(access: Access, tile: Tile) -> Iterator[_Span]:
    """Where the tile's valid elements lie in memory, run by run."""
    size = tile.dtype.nbytes
    if not access.runs.dims and not tile.is_cut:
        yield access.runs.start, 0, access.runs.length // size
        return
    memory = ((start, (stop - start) // size) for start, stop in access.runs.runs())
    elements = _valid_elements(tile)
    byte = first = left = room = 0
    while True:
        if not left:
            byte, left = next(memory, (0, 0))
        if not room:
            first, room = next(elements, (0, 0))
        count = min(left, room)
        if not count:
            return
        yield byte, first, count
        byte, first = byte + count * size, first + count
        left, room = left - count, room - count


def _valid_elements(tile: Tile) -> Iterator[tuple[int, int]]:
    """The runs of a tile's valid part, as (first element, how many)."""
    whole = View(
        name="tile",
        buffer=Buffer(name="tile", kind=BufferKind.SCRATCH, nbytes=0),
        shape=tile.shape,
        dtype=DType.BOOL,  # of one byte, so that bytes count elements
    )
    valid = Region(view=whole, offsets=(0,) * len(tile.shape), shape=tile.valid)
    for start, stop in region_bytes(valid).runs():
        yield start, stop - start
