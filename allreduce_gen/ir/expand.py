"""Plan to Trace: what every rank does when it runs the plan's steps."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import assert_never

from allreduce_gen.spec import DType, ReduceOp

from .events import (
    Combine,
    Event,
    Load,
    Notify,
    NotifyOp,
    Origin,
    RemoteLoad,
    RemoteStore,
    Repeat,
    Store,
    Tile,
    TileOp,
    Wait,
    WaitCmp,
)
from .expr import Expr, evaluate
from .memory import Buffer, BufferKind, Region, View
from .plan import Plan
from .steps import (
    Move,
    NotifyPeers,
    PeerLoop,
    Place,
    Reduce,
    Span,
    Step,
    WaitForPeers,
)
from .trace import Agent, AgentTrace, Trace

INPUT, OUTPUT, SIGNAL = "x", "y", "signal"

_TILE_OPS = {ReduceOp.SUM: TileOp.ADD}


def expand(plan: Plan) -> Trace:
    """The events of every rank of `plan`."""
    ranks = range(plan.spec.num_ranks)
    return Trace(
        num_ranks=plan.spec.num_ranks,
        platform=plan.spec.platform,
        buffers=tuple(view.buffer for view in _views(plan, 0).values()),
        agents=tuple(
            AgentTrace(agent=Agent(rank=rank), events=tuple(_Expander(plan, rank)))
            for rank in ranks
        ),
    )


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
        shape = (len(plan.signal_rows), spec.num_ranks)
        views.append(_window_view(SIGNAL, shape, DType.INT32))
    return {view.name: view for view in views}


def _window_view(name: str, shape: tuple[int, int], dtype: DType) -> View:
    nbytes = shape[0] * shape[1] * dtype.nbytes
    buffer = Buffer(name=name, kind=BufferKind.WINDOW, nbytes=nbytes)
    return View(name=name, buffer=buffer, shape=shape, dtype=dtype)


class _Expander:
    """The events of one rank. It holds the rank's names and numbers its tiles."""

    def __init__(self, plan: Plan, rank: int) -> None:
        self._plan = plan
        self._views = _views(plan, rank)
        self._env = plan.env | {"my_rank": rank}
        self._ids = itertools.count()
        for binding in plan.bindings:
            self._env[binding.name] = evaluate(binding.value, self._env)

    def __iter__(self) -> Iterator[Event]:
        for step in self._plan.steps:
            if step.guard is None or self._value(step.guard):
                yield from self._expand(step)

    def _expand(self, step: Step) -> Iterator[Event]:
        origin = Origin(step=step.name)
        match step:
            case Move():
                for _ in self._peers(step.peers):
                    yield from self._tiles(step.span, origin, self._mover(step, origin))
            case Reduce():
                yield from self._tiles(step.span, origin, self._reducer(step, origin))
            case NotifyPeers():
                for peer in self._peers(step.peers):
                    yield Notify(
                        peer=peer,
                        slot=self._slot(step.row, self._env["my_rank"]),
                        value=step.value,
                        op=NotifyOp.ATOMIC_ADD,
                        origin=origin,
                    )
            case WaitForPeers():
                for peer in self._peers(step.peers):
                    yield Wait(
                        slot=self._slot(step.row, peer),
                        expected=step.expected,
                        cmp=WaitCmp.GE,
                        origin=origin,
                    )
            case _:
                assert_never(step)

    def _peers(self, loop: PeerLoop | None) -> Iterator[int]:
        """Each peer of `loop` in turn, its name bound meanwhile."""
        if loop is None:
            yield self._env["my_rank"]
            return
        for index in range(self._value(loop.start), self._value(loop.stop)):
            self._env[loop.var] = index
            self._env[loop.name] = self._value(loop.peer)
            yield self._env[loop.name]

    def _tiles(
        self, span: Span, origin: Origin, body: Callable[[int, int, bool], _Events]
    ) -> Iterator[Event]:
        """`body(first element, elements, repeated)` for full tiles, then the tail."""
        tile, count = self._value(span.tile), self._value(span.num_tiles)
        tail = self._value(span.tail)
        if count == 1:
            yield from body(0, tile, False)
        elif count > 1:
            repeated = tuple(body(0, tile, True))
            yield Repeat(count=count, body=repeated, origin=origin)
        if tail:
            yield from body(count * tile, tail, False)

    def _mover(self, step: Move, origin: Origin) -> Callable[[int, int, bool], _Events]:
        def body(first: int, elems: int, repeated: bool) -> _Events:
            tile = self._tile(elems, self._views[step.source.window].dtype)
            source = self._region(step.source, first, elems, repeated)
            target = self._region(step.target, first, elems, repeated)
            yield self._load(step.source, tile, source, origin)
            yield self._store(step.target, tile, target, origin)

        return body

    def _reducer(
        self, step: Reduce, origin: Origin
    ) -> Callable[[int, int, bool], _Events]:
        def body(first: int, elems: int, repeated: bool) -> _Events:
            dtype = self._views[step.own.window].dtype
            acc = self._tile(elems, dtype)
            own = self._region(step.own, first, elems, repeated)
            yield self._load(step.own, acc, own, origin)
            for _ in self._peers(step.peers):
                other = self._tile(elems, dtype)
                region = self._region(step.contribution, first, elems, repeated)
                yield self._load(step.contribution, other, region, origin)
                total = self._tile(elems, dtype)
                yield Combine(
                    tile=total,
                    op=_TILE_OPS[step.op],
                    left=acc,
                    right=other,
                    origin=origin,
                )
                acc = total
            target = self._region(step.target, first, elems, repeated)
            yield self._store(step.target, acc, target, origin)

        return body

    def _load(self, place: Place, tile: Tile, region: Region, origin: Origin) -> Event:
        if place.peer is None:
            return Load(tile=tile, region=region, origin=origin)
        peer = self._value(place.peer)
        return RemoteLoad(tile=tile, peer=peer, region=region, origin=origin)

    def _store(self, place: Place, tile: Tile, region: Region, origin: Origin) -> Event:
        if place.peer is None:
            return Store(tile=tile, region=region, origin=origin)
        peer = self._value(place.peer)
        return RemoteStore(tile=tile, peer=peer, region=region, origin=origin)

    def _tile(self, elems: int, dtype: DType) -> Tile:
        shape = (1, elems)
        return Tile(id=next(self._ids), shape=shape, dtype=dtype, valid=shape)

    def _region(self, place: Place, first: int, elems: int, repeated: bool) -> Region:
        return Region(
            view=self._views[place.window],
            offsets=(self._value(place.row), self._value(place.at) + first),
            shape=(1, elems),
            strides=((0, elems),) if repeated else (),
        )

    def _slot(self, row: Expr, column: int) -> Region:
        offsets = (self._value(row), column)
        return Region(view=self._views[SIGNAL], offsets=offsets, shape=(1, 1))

    def _value(self, expr: Expr) -> int:
        return evaluate(expr, self._env)


_Events = Iterator[Event]
