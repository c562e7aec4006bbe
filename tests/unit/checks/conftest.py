"""Small programs, written event by event as a person would write their kernels."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import SimpleNamespace

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
    Repeat,
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


@dataclass
class Rank:
    """One rank (and block) being written. `line` is where its next events come from."""

    rank: int
    num_ranks: int
    views: dict[str, View]
    block: int = 0
    line: int = 0
    events: list[Event] = field(default_factory=list)
    ids: Iterable[int] = field(default_factory=itertools.count)

    @property
    def origin(self) -> Origin:
        return Origin(file="kernel.py", line=self.line)

    def at(self, line: int) -> Rank:
        self.line = line
        return self

    def region(self, name: str, start: int, length: int, row: int = 0) -> Region:
        return Region(view=self.views[name], offsets=(row, start), shape=(1, length))

    def tile(self, length: int, dtype: DType, valid: int | None = None) -> Tile:
        cut = (1, length if valid is None else valid)
        return Tile(id=next(self.ids), shape=(1, length), dtype=dtype, valid=cut)

    def load(
        self, name: str, start: int, length: int, row: int = 0, *, padded: int = 0
    ) -> Tile:
        tile = self.tile(padded or length, self.views[name].dtype, length)
        region = self.region(name, start, length, row)
        self.events.append(Load(tile=tile, region=region, origin=self.origin))
        return tile

    def get(self, peer: int, name: str, start: int, length: int, row: int = 0) -> Tile:
        tile = self.tile(length, self.views[name].dtype)
        region = self.region(name, start, length, row)
        self.events.append(
            RemoteLoad(tile=tile, peer=peer, region=region, origin=self.origin)
        )
        return tile

    def store(
        self, tile: Tile, name: str, start: int, row: int = 0, *, atomic: bool = False
    ) -> None:
        region = self.region(name, start, tile.valid[1], row)
        self.events.append(
            Store(tile=tile, region=region, atomic=atomic, origin=self.origin)
        )

    def put(
        self,
        tile: Tile,
        peer: int,
        name: str,
        start: int,
        row: int = 0,
        *,
        atomic: bool = False,
    ) -> None:
        region = self.region(name, start, tile.valid[1], row)
        self.events.append(
            RemoteStore(
                tile=tile, peer=peer, region=region, atomic=atomic, origin=self.origin
            )
        )

    def combine(self, left: Tile, right: Tile, op: TileOp = TileOp.ADD) -> Tile:
        tile = self.tile(left.shape[1], left.dtype)
        self.events.append(
            Combine(tile=tile, op=op, left=left, right=right, origin=self.origin)
        )
        return tile

    def scale(self, source: Tile, scalar: float, op: TileOp = TileOp.MUL) -> Tile:
        tile = self.tile(source.shape[1], source.dtype)
        self.events.append(
            Scale(tile=tile, op=op, source=source, scalar=scalar, origin=self.origin)
        )
        return tile

    def cast(self, source: Tile, dtype: DType) -> Tile:
        tile = self.tile(source.shape[1], dtype, source.valid[1])
        self.events.append(
            Cast(tile=tile, source=source, mode="rint", origin=self.origin)
        )
        return tile

    def cut(self, source: Tile, valid: int) -> Tile:
        tile = self.tile(source.shape[1], source.dtype, valid)
        self.events.append(Reshape(tile=tile, source=source, origin=self.origin))
        return tile

    def fill(self, length: int, value: float | None, dtype: DType = DType.FP32) -> Tile:
        tile = self.tile(length, dtype)
        self.events.append(Fill(tile=tile, value=value, origin=self.origin))
        return tile

    def repeat(self, count: int, length: int, body: Callable[[Rank], None]) -> None:
        """`body`, written for the first round, in a loop over tiles of `length`."""
        outer, self.events = self.events, []
        body(self)
        moved = tuple(_moving(event, length) for event in self.events)
        self.events = [*outer, Repeat(count=count, body=moved, origin=self.origin)]

    def slot(self, row: int, column: int, name: str = "signal") -> Region:
        return Region(view=self.views[name], offsets=(row, column), shape=(1, 1))

    def notify(
        self,
        peer: int,
        row: int,
        column: int,
        value: int = 1,
        op: NotifyOp = NotifyOp.ATOMIC_ADD,
    ) -> None:
        slot = self.slot(row, column)
        self.events.append(
            Notify(peer=peer, slot=slot, value=value, op=op, origin=self.origin)
        )

    def wait(
        self, row: int, column: int, expected: int = 1, cmp: WaitCmp = WaitCmp.GE
    ) -> None:
        slot = self.slot(row, column)
        self.events.append(
            Wait(slot=slot, expected=expected, cmp=cmp, origin=self.origin)
        )

    @property
    def peers(self) -> list[int]:
        """The others, from the next rank on around."""
        return [
            (self.rank + step) % self.num_ranks for step in range(1, self.num_ranks)
        ]

    def notify_all(self, row: int, *, line: int, value: int = 1) -> None:
        for peer in self.at(line).peers:
            self.notify(peer, row, self.rank, value)

    def wait_all(self, row: int, *, line: int, expected: int = 1) -> None:
        for peer in self.at(line).peers:
            self.wait(row, peer, expected)

    def barrier(self, row: int, *, line: int, expected: int = 1) -> None:
        self.notify_all(row, line=line)
        self.wait_all(row, line=line + 1, expected=expected)


def _moving(event: Event, length: int) -> Event:
    if isinstance(event, Load | Store | RemoteLoad | RemoteStore):
        region = dataclasses.replace(event.region, strides=((0, length),))
        return dataclasses.replace(event, region=region)
    return event


def write(
    num_ranks: int,
    size: int,
    script: Callable[[Rank], None],
    *,
    rows: int = 8,
    out: int | None = None,
    dtype: DType = DType.FP32,
    windows: dict[str, tuple[int, int]] | None = None,
    blocks: int = 1,
    signal: tuple[int, int] | None = None,
    signal_dtype: DType = DType.INT32,
    platform: str = "a2a3sim",
) -> Trace:
    """The trace of `script`, run for every rank.

    x has `size` elements a rank, y `out`; windows data and result have one row of
    `size`, and signal `rows` rows of a slot for each rank.
    """
    shapes = {"data": (1, size), "result": (1, size)} if windows is None else windows
    hosts = (("x", BufferKind.INPUT, size), ("y", BufferKind.OUTPUT, out or size))
    buffers = {
        name: Buffer(name=name, kind=kind, nbytes=num_ranks * elems * dtype.nbytes)
        for name, kind, elems in hosts
    }
    for name, (height, width) in shapes.items():
        nbytes = height * width * dtype.nbytes
        buffers[name] = Buffer(name=name, kind=BufferKind.WINDOW, nbytes=nbytes)
    slots = signal or (rows, num_ranks)
    nbytes = slots[0] * slots[1] * signal_dtype.nbytes
    buffers["signal"] = Buffer(name="signal", kind=BufferKind.WINDOW, nbytes=nbytes)

    def views(rank: int) -> dict[str, View]:
        found = {
            name: View(
                name=name,
                buffer=buffers[name],
                shape=(1, elems),
                dtype=dtype,
                start=rank * elems * dtype.nbytes,
            )
            for name, _, elems in hosts
        }
        for name, shape in shapes.items():
            found[name] = View(
                name=name, buffer=buffers[name], shape=shape, dtype=dtype
            )
        found["signal"] = View(
            name="signal", buffer=buffers["signal"], shape=slots, dtype=signal_dtype
        )
        return found

    agents = []
    for rank, block in itertools.product(range(num_ranks), range(blocks)):
        writer = Rank(rank=rank, num_ranks=num_ranks, views=views(rank), block=block)
        script(writer)
        agents.append(
            AgentTrace(agent=Agent(rank=rank, block=block), events=tuple(writer.events))
        )
    return Trace(
        num_ranks=num_ranks,
        platform=platform,
        buffers=tuple(buffers.values()),
        agents=tuple(agents),
    )


def stage_in(me: Rank, size: int) -> None:
    """Lines 10 and 11: copy x to data."""
    staged = me.at(10).load("x", 0, size)
    me.at(11).store(staged, "data", 0)


def reduce_scatter(me: Rank, chunk: int, target: str = "result") -> None:
    """Lines 30 to 33: add everybody's chunk and store it."""
    start = me.rank * chunk
    acc = me.at(30).load("data", start, chunk)
    for peer in me.peers:
        other = me.at(31).get(peer, "data", start, chunk)
        acc = me.at(32).combine(acc, other)
    me.at(33).store(acc, target, start)


def all_gather(me: Rank, chunk: int, source: str = "result") -> None:
    """Lines 50 and 51: read each chunk from its owner."""
    for step in range(me.num_ranks):
        owner = (me.rank + step) % me.num_ranks
        reduced = me.at(50).get(owner, source, owner * chunk, chunk)
        me.at(51).store(reduced, "y", owner * chunk)


def two_phase(
    num_ranks: int,
    size: int = 0,
    *,
    rows: tuple[int, int] = (0, 1),
    expected: tuple[int, int] = (1, 1),
    target: str = "result",
    epilogue: Callable[[Rank], None] | None = None,
) -> Trace:
    """The tutorial's two-phase all-reduce; barriers on lines 20, 21 and 40, 41."""
    size = size or 16 * num_ranks
    chunk = size // num_ranks

    def script(me: Rank) -> None:
        stage_in(me, size)
        me.barrier(rows[0], line=20, expected=expected[0])
        reduce_scatter(me, chunk, target)
        me.barrier(rows[1], line=40, expected=expected[1])
        all_gather(me, chunk, target)
        if epilogue is not None:
            epilogue(me)

    return write(num_ranks, size, script)


def mesh(
    num_ranks: int,
    size: int = 0,
    *,
    barrier: Callable[[Rank], None] | None = None,
    after: Callable[[Rank], None] | None = None,
    ascending: bool = True,
    target: str = "y",
) -> Trace:
    """Everybody adds everybody's data, read remotely, in the order of the ranks."""
    size = size or 16 * num_ranks

    def script(me: Rank) -> None:
        stage_in(me, size)
        if barrier is None:
            me.barrier(0, line=20)
        else:
            barrier(me)
        order = range(me.num_ranks) if ascending else [me.rank, *me.peers]
        acc = None
        for peer in order:
            part = me.at(30).get(peer, "data", 0, size)
            acc = part if acc is None else me.at(31).combine(acc, part)
        me.at(32).store(acc, target, 0)
        if target != "y":
            me.at(33).store(me.load(target, 0, size), "y", 0)
        if after is not None:
            after(me)

    return write(num_ranks, size, script)


def ring(
    num_ranks: int,
    size: int = 0,
    *,
    row_of: Callable[[int], int] = lambda step: step,
    after: Callable[[Rank], None] | None = None,
) -> Trace:
    """The ring in place, each rank in step with its neighbours only."""
    size = size or 16 * num_ranks
    chunk = size // num_ranks

    def script(me: Rank) -> None:
        right, left = me.peers[0], me.peers[-1]
        stage_in(me, size)
        for step in range(2 * num_ranks - 2):
            me.at(20).notify(right, row_of(step), me.rank)
            me.at(21).wait(row_of(step), left)
            gathers = step >= num_ranks - 1
            back = step - (num_ranks - 1) if gathers else step + 1
            start = (me.rank - back) % num_ranks * chunk
            got = me.at(31).get(left, "data", start, chunk)
            if not gathers:
                own = me.at(30).load("data", start, chunk)
                got = me.at(32).combine(own, got)
            me.at(33).store(got, "data", start)
        me.at(50).store(me.load("data", 0, size), "y", 0)
        if after is not None:
            after(me)

    return write(num_ranks, size, script, rows=2 * num_ranks)


@pytest.fixture(scope="session")
def programs() -> SimpleNamespace:
    """The writers of this module, by name."""
    return SimpleNamespace(
        Rank=Rank,
        all_gather=all_gather,
        mesh=mesh,
        reduce_scatter=reduce_scatter,
        ring=ring,
        stage_in=stage_in,
        two_phase=two_phase,
        write=write,
    )


@pytest.fixture
def kinds():
    """The codes of findings, sorted; warnings in brackets."""

    def of(findings: Iterable[object]) -> list[str]:
        return sorted(
            one.code.id if one.is_error else f"({one.code.id})" for one in findings
        )

    return of
