"""Plan to Trace: what every rank does when it runs the plan's steps."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, assert_never

from allreduce_gen.spec import DType, ReduceOp

from .constants import Factor
from .events import (
    Cast,
    Combine,
    Event,
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
from .expr import Expr, evaluate
from .memory import Buffer, BufferKind, Region, View
from .pieces import Piece, cut_span
from .plan import Plan
from .steps import (
    INPUT,
    OUTPUT,
    Binding,
    Block,
    ClearSlots,
    Move,
    NotifyPeers,
    OnePeer,
    PeerLoop,
    Peers,
    Place,
    Reduce,
    Span,
    Step,
    WaitForPeers,
)
from .trace import Agent, AgentTrace, Trace

SIGNAL = "signal"

WIDENING = "round"  # a wider type holds every value: the mode does not matter
NARROWING = "rint"

_TILE_OPS = {
    ReduceOp.SUM: TileOp.ADD,
    ReduceOp.AVG: TileOp.ADD,
    ReduceOp.PROD: TileOp.MUL,
    ReduceOp.MAX: TileOp.MAX,
    ReduceOp.MIN: TileOp.MIN,
}


def expand(plan: Plan, *, call: int = 1) -> Trace:
    """The events of every rank of `plan` in the `call`-th call, counted from 1."""
    ranks = range(plan.spec.num_ranks)
    return Trace(
        num_ranks=plan.spec.num_ranks,
        platform=plan.spec.platform,
        buffers=tuple(view.buffer for view in _views(plan, 0).values()),
        agents=tuple(expand_rank(plan, rank, call=call) for rank in ranks),
    )


def expand_rank(plan: Plan, rank: int, *, call: int = 1) -> AgentTrace:
    """The events of one rank alone."""
    return AgentTrace(agent=Agent(rank=rank), events=tuple(_Expander(plan, rank, call)))


def _views(plan: Plan, rank: int) -> dict[str, View]:
    """Every name that a step may read or write, as `rank` sees it."""
    spec, env = plan.spec, plan.env
    host = spec.num_ranks * spec.size_bytes
    views = [
        View(
            name=name,
            buffer=Buffer(name=name, kind=kind, nbytes=host),
            shape=(1, spec.size),
            dtype=spec.dtype,
            start=rank * spec.size_bytes,
        )
        for name, kind in ((INPUT, BufferKind.INPUT), (OUTPUT, BufferKind.OUTPUT))
    ]
    for window in plan.windows:
        shape = (evaluate(window.rows, env), evaluate(window.width, env))
        views.append(_window_view(window.name, shape, window.dtype))
    if plan.signal_rows:
        shape = (plan.num_rows, spec.num_ranks)
        views.append(_window_view(SIGNAL, shape, DType.INT32))
    return {view.name: view for view in views}


def _window_view(name: str, shape: tuple[int, int], dtype: DType) -> View:
    nbytes = shape[0] * shape[1] * dtype.nbytes
    buffer = Buffer(name=name, kind=BufferKind.WINDOW, nbytes=nbytes)
    return View(name=name, buffer=buffer, shape=shape, dtype=dtype)


_Events: TypeAlias = Iterator[Event]
_Body: TypeAlias = Callable[[Piece], _Events]


class _Expander:
    """The events of one rank. It holds the rank's names and numbers its tiles."""

    def __init__(self, plan: Plan, rank: int, call: int) -> None:
        self._plan = plan
        self._views = _views(plan, rank)
        self._env = plan.env | {"my_rank": rank}
        self._env |= dict.fromkeys(plan.scalars, call)
        self._ids = itertools.count()
        self._origin = Origin()
        self._bind(plan.bindings)

    def __iter__(self) -> _Events:
        yield from self._run(self._plan.steps)

    def _run(self, steps: Iterable[Step]) -> _Events:
        for step in steps:
            if step.guard is None or self._value(step.guard):
                self._origin = Origin(step=step.name)
                yield from self._expand(step)

    def _expand(self, step: Step) -> _Events:
        match step:
            case Move():
                for _ in self._peers(step.peers):
                    base = self._value(step.vector_at)
                    yield from self._tiles(step.span, base, self._mover(step))
            case Reduce():
                base = self._value(step.vector_at)
                yield from self._tiles(step.span, base, self._reducer(step))
            case NotifyPeers():
                for peer in self._peers(step.peers):
                    slot = self._slot(self._value(step.row), self._env["my_rank"])
                    yield self._notify(peer, slot, step.value)
            case WaitForPeers():
                for peer in self._peers(step.peers):
                    yield Wait(
                        slot=self._slot(self._value(step.row), peer),
                        expected=self._value(step.expected),
                        cmp=WaitCmp.GE,
                        origin=self._origin,
                    )
            case ClearSlots():
                first = self._value(step.row)
                for peer in self._peers(step.peers):
                    for row in range(first, first + self._value(step.num_rows)):
                        slot = self._slot(row, peer)
                        yield self._notify(self._env["my_rank"], slot, -1)
            case Block():
                for index in range(self._value(step.rounds)):
                    self._env[step.var] = index
                    self._bind(step.bindings)
                    yield from self._run(step.body)
            case _:
                assert_never(step)

    def _bind(self, bindings: Iterable[Binding]) -> None:
        for binding in bindings:
            self._env[binding.name] = self._value(binding.value)

    def _peers(self, peers: Peers | None) -> Iterator[int]:
        """Each peer in turn, its name bound; this rank where there is none."""
        match peers:
            case None:
                yield self._env["my_rank"]
            case OnePeer():
                yield self._value(peers.peer)
            case PeerLoop():
                for index in range(self._value(peers.start), self._value(peers.stop)):
                    self._env[peers.var] = index
                    self._env[peers.name] = self._value(peers.peer)
                    yield self._env[peers.name]
            case _:
                assert_never(peers)

    def _tiles(self, span: Span, base: int, body: _Body) -> _Events:
        """`body` for the full tiles of a span at `base`, then for what is left."""
        for piece in cut_span(span, base, self._env):
            events = tuple(body(piece))
            if piece.count > 1:
                yield Repeat(count=piece.count, body=events, origin=self._origin)
            else:
                yield from events

    def _mover(self, step: Move) -> _Body:
        dtype = self._views[step.source.window].dtype

        def body(piece: Piece) -> _Events:
            tile = self._tile(piece, dtype, whole=step.cuts_after_load)
            yield self._load(step.source, tile, piece)
            if step.cuts_after_load and piece.valid != piece.elems:
                tile, cut = self._cut(tile, piece)
                yield cut
            if step.scale is not None:
                tile, scaled = self._scaled(tile, step.scale)
                yield scaled
            if step.conversion is not None:
                tile, cast = self._cast(tile, step.conversion.target)
                yield cast
            for _ in self._peers(step.targets):
                yield self._store(step.target, tile, piece)

        return body

    def _reducer(self, step: Reduce) -> _Body:
        def body(piece: Piece) -> _Events:
            acc, *events = self._widened(step, step.own, piece)
            yield from events
            for _ in self._peers(step.peers):
                other, *events = self._widened(step, step.contribution, piece)
                yield from events
                total = self._tile(piece, step.accumulator, whole=True)
                yield Combine(
                    tile=total,
                    op=_TILE_OPS[step.op],
                    left=acc,
                    right=other,
                    origin=self._origin,
                )
                acc = total
            yield from self._finished(step, acc, piece)

        return body

    def _widened(
        self, step: Reduce, place: Place, piece: Piece
    ) -> tuple[Tile, *tuple[Event, ...]]:
        """A tile of `place` in the accumulator's type, and the events that make it."""
        loaded = self._tile(piece, step.dtype, whole=True)
        load = self._load(place, loaded, piece)
        if not step.is_widened:
            return loaded, load
        wide, cast = self._cast(loaded, step.accumulator)
        return wide, load, cast

    def _finished(self, step: Reduce, acc: Tile, piece: Piece) -> _Events:
        """Scale, narrow, cut and store the accumulator."""
        if step.scale is not None:
            acc, scaled = self._scaled(acc, step.scale)
            yield scaled
        if step.is_widened:
            acc, cast = self._cast(acc, step.dtype)
            yield cast
        if piece.valid != piece.elems:
            acc, cut = self._cut(acc, piece)
            yield cut
        yield self._store(step.target, acc, piece)

    def _scaled(self, source: Tile, scale: Factor) -> tuple[Tile, Event]:
        tile = dataclasses.replace(source, id=next(self._ids))
        return tile, Scale(
            tile=tile,
            op=TileOp.MUL,
            source=source,
            scalar=scale.value,
            origin=self._origin,
        )

    def _cast(self, source: Tile, dtype: DType) -> tuple[Tile, Event]:
        tile = dataclasses.replace(source, id=next(self._ids), dtype=dtype)
        mode = NARROWING if dtype.nbytes < source.dtype.nbytes else WIDENING
        return tile, Cast(tile=tile, source=source, mode=mode, origin=self._origin)

    def _cut(self, source: Tile, piece: Piece) -> tuple[Tile, Event]:
        valid = (1, piece.valid)
        tile = dataclasses.replace(source, id=next(self._ids), valid=valid)
        return tile, Reshape(tile=tile, source=source, origin=self._origin)

    def _load(self, place: Place, tile: Tile, piece: Piece) -> Event:
        region = self._region(place, tile, piece)
        if place.peer is None:
            return Load(tile=tile, region=region, origin=self._origin)
        peer = self._value(place.peer)
        return RemoteLoad(tile=tile, peer=peer, region=region, origin=self._origin)

    def _store(self, place: Place, tile: Tile, piece: Piece) -> Event:
        region = self._region(place, tile, piece)
        if place.peer is None:
            return Store(tile=tile, region=region, origin=self._origin)
        peer = self._value(place.peer)
        return RemoteStore(tile=tile, peer=peer, region=region, origin=self._origin)

    def _tile(self, piece: Piece, dtype: DType, *, whole: bool = False) -> Tile:
        valid = piece.elems if whole else piece.valid
        return Tile(
            id=next(self._ids), shape=(1, piece.elems), dtype=dtype, valid=(1, valid)
        )

    def _region(self, place: Place, tile: Tile, piece: Piece) -> Region:
        return Region(
            view=self._views[place.window],
            offsets=(self._value(place.row), self._value(place.at) + piece.first),
            shape=tile.valid,
            strides=piece.strides,
        )

    def _notify(self, peer: int, slot: Region, value: int) -> Event:
        return Notify(
            peer=peer,
            slot=slot,
            value=value,
            op=NotifyOp.ATOMIC_ADD,
            origin=self._origin,
        )

    def _slot(self, row: int, column: int) -> Region:
        return Region(view=self._views[SIGNAL], offsets=(row, column), shape=(1, 1))

    def _value(self, expr: Expr) -> int:
        return evaluate(expr, self._env)
