"""Small traces, sketched event by event."""

from __future__ import annotations

import itertools

import pytest

from allreduce_gen.ir.events import (
    Cast,
    Combine,
    Event,
    Fill,
    Load,
    Notify,
    NotifyOp,
    Origin,
    RemoteLoad,
    RemoteStore,
    Reshape,
    Scale,
    Store,
    Tile,
    TileOp,
    Wait,
    WaitCmp,
)
from allreduce_gen.ir.memory import Buffer, BufferKind, Region, View
from allreduce_gen.ir.trace import Agent, AgentTrace, Trace
from allreduce_gen.spec import DType


class Sketch:
    """A program of `num_ranks` ranks: x and y of `size` elements a rank, windows
    `data` and `result` of as many, and a signal window of `slots`."""

    def __init__(
        self,
        num_ranks: int,
        size: int = 8,
        *,
        dtype: DType = DType.FP32,
        slots: tuple[int, int] = (4, 4),
    ) -> None:
        self.num_ranks, self.size, self.dtype, self.slots = (
            num_ranks,
            size,
            dtype,
            slots,
        )
        host, window = num_ranks * size * dtype.nbytes, size * dtype.nbytes
        self.buffers = {
            name: Buffer(name=name, kind=kind, nbytes=nbytes)
            for name, kind, nbytes in (
                ("x", BufferKind.INPUT, host),
                ("y", BufferKind.OUTPUT, host),
                ("data", BufferKind.WINDOW, window),
                ("result", BufferKind.WINDOW, window),
                ("signal", BufferKind.WINDOW, 4 * slots[0] * slots[1]),
            )
        }
        self.ranks = [Script(self, rank) for rank in range(num_ranks)]

    def trace(self) -> Trace:
        return Trace(
            num_ranks=self.num_ranks,
            platform="a2a3sim",
            buffers=tuple(self.buffers.values()),
            agents=tuple(
                AgentTrace(agent=Agent(rank=one.rank), events=tuple(one.events))
                for one in self.ranks
            ),
        )


class Script:
    """What one rank does; every method appends an event, and returns its tile."""

    def __init__(self, sketch: Sketch, rank: int) -> None:
        self.sketch, self.rank = sketch, rank
        self.events: list[Event] = []
        self._ids = itertools.count()

    def peers(self) -> list[int]:
        return [rank for rank in range(self.sketch.num_ranks) if rank != self.rank]

    def region(self, name: str, at: int = 0, elems: int | None = None) -> Region:
        sketch = self.sketch
        buffer = sketch.buffers[name]
        start = 0 if buffer.is_window else self.rank * sketch.size * sketch.dtype.nbytes
        view = View(
            name=name,
            buffer=buffer,
            shape=(1, sketch.size),
            dtype=sketch.dtype,
            start=start,
        )
        shape = (1, sketch.size if elems is None else elems)
        return Region(view=view, offsets=(0, at), shape=shape)

    def slot(self, row: int, column: int) -> Region:
        view = View(
            name="signal",
            buffer=self.sketch.buffers["signal"],
            shape=self.sketch.slots,
            dtype=DType.INT32,
        )
        return Region(view=view, offsets=(row, column), shape=(1, 1))

    def tile(
        self,
        elems: int,
        *,
        dtype: DType | None = None,
        valid: int | None = None,
    ) -> Tile:
        return Tile(
            id=next(self._ids),
            shape=(1, elems),
            dtype=dtype or self.sketch.dtype,
            valid=(1, elems if valid is None else valid),
        )

    def add(self, event: Event) -> None:
        self.events.append(event)

    def _origin(self) -> Origin:
        return Origin(file="kernel.py", line=10 * self.rank + len(self.events) + 1)

    def load(self, name: str, at: int = 0, elems: int | None = None) -> Tile:
        region = self.region(name, at, elems)
        tile = self.tile(region.shape[1])
        self.add(Load(tile=tile, region=region, origin=self._origin()))
        return tile

    def remote_load(
        self, name: str, peer: int, at: int = 0, elems: int | None = None
    ) -> Tile:
        region = self.region(name, at, elems)
        tile = self.tile(region.shape[1])
        self.add(RemoteLoad(tile=tile, peer=peer, region=region, origin=self._origin()))
        return tile

    def store(
        self, tile: Tile, name: str, at: int = 0, *, atomic: bool = False
    ) -> None:
        region = self.region(name, at, tile.valid[1])
        self.add(Store(tile=tile, region=region, atomic=atomic, origin=self._origin()))

    def remote_store(
        self, tile: Tile, name: str, peer: int, at: int = 0, *, atomic: bool = False
    ) -> None:
        region = self.region(name, at, tile.valid[1])
        self.add(
            RemoteStore(
                tile=tile,
                peer=peer,
                region=region,
                atomic=atomic,
                origin=self._origin(),
            )
        )

    def combine(self, left: Tile, right: Tile, op: TileOp = TileOp.ADD) -> Tile:
        tile = self.tile(left.shape[1], dtype=left.dtype)
        self.add(Combine(tile=tile, op=op, left=left, right=right))
        return tile

    def scale(self, source: Tile, op: TileOp, scalar: float) -> Tile:
        tile = self.tile(source.shape[1], dtype=source.dtype)
        self.add(Scale(tile=tile, op=op, source=source, scalar=scalar))
        return tile

    def cast(self, source: Tile, dtype: DType, mode: str) -> Tile:
        tile = self.tile(source.shape[1], dtype=dtype)
        self.add(Cast(tile=tile, source=source, mode=mode))
        return tile

    def fill(self, elems: int, value: float | None) -> Tile:
        tile = self.tile(elems)
        self.add(Fill(tile=tile, value=value))
        return tile

    def reshape(self, source: Tile, valid: int) -> Tile:
        tile = self.tile(source.shape[1], dtype=source.dtype, valid=valid)
        self.add(Reshape(tile=tile, source=source))
        return tile

    def notify(
        self,
        peer: int,
        row: int = 0,
        column: int | None = None,
        *,
        value: int = 1,
        op: NotifyOp = NotifyOp.ATOMIC_ADD,
    ) -> None:
        """Slot [row, own rank] of `peer` unless `column` says another."""
        slot = self.slot(row, self.rank if column is None else column)
        self.add(
            Notify(peer=peer, slot=slot, value=value, op=op, origin=self._origin())
        )

    def wait(
        self, row: int, column: int, expected: int = 1, cmp: WaitCmp = WaitCmp.GE
    ) -> None:
        slot = self.slot(row, column)
        self.add(Wait(slot=slot, expected=expected, cmp=cmp, origin=self._origin()))

    def barrier(self, row: int, expected: int = 1) -> None:
        for peer in self.peers():
            self.notify(peer, row)
        for peer in self.peers():
            self.wait(row, peer, expected)

    def copy(self, source: str, target: str) -> None:
        self.store(self.load(source), target)


def two_phase(
    num_ranks: int, *, second_row: int = 1, second_expected: int = 1
) -> Sketch:
    """The two-phase all-reduce, its second barrier's row and threshold to choose."""
    sketch = Sketch(num_ranks, size=8 * num_ranks, slots=(2, num_ranks))
    for rank in sketch.ranks:
        mine = 8 * rank.rank
        rank.copy("x", "data")
        rank.barrier(0)
        acc = rank.load("data", mine, 8)
        for peer in rank.peers():
            acc = rank.combine(acc, rank.remote_load("data", peer, mine, 8))
        rank.store(acc, "result", mine)
        rank.barrier(second_row, second_expected)
        for owner in range(num_ranks):
            at = 8 * owner
            rank.store(rank.remote_load("result", owner, at, 8), "y", at)
    return sketch


@pytest.fixture(scope="session")
def sketch() -> type[Sketch]:
    return Sketch


@pytest.fixture(name="two_phase", scope="session")
def two_phase_fixture():  # type: ignore[no-untyped-def]
    return two_phase
