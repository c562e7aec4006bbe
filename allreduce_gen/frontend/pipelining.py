"""What pl.pipeline makes of a loop's body: loads move up, stores move down.

The compiler keeps an order only where a value goes from one statement to the other: a
tile, or the name that a store gives (`data = pl.store(tile, offsets, data)`, and then a
load from `data`). Signals and bytes of memory are no such values. So each access in a
loop is compared here with those that come before it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager

from allreduce_gen.ir.events import (
    Event,
    Load,
    Notify,
    Origin,
    RemoteLoad,
    RemoteStore,
    Store,
    Wait,
)
from allreduce_gen.ir.memory import View
from allreduce_gen.ir.widen import tile_defined, tiles_used

from .accesses import Access, Ledger, keep_to_their_round, meet, read_access
from .affine import NotAffineError
from .context import Run
from .machine import Frame, Machine
from .recorder import Recorder
from .reordered import report_signal, report_swap

_NONE: frozenset[int] = frozenset()


class Pipeline:
    """One run of a pl.pipeline loop by one agent: what it has touched so far."""

    def __init__(self, recorder: Recorder, origin: Origin) -> None:
        self._recorder = recorder
        self._origin = origin
        self._first_tile = recorder.num_tiles
        self._depth = len(recorder.calls)
        self._accesses = Ledger()
        self._stores: dict[int, Access] = {}
        self._made_of: dict[int, frozenset[int]] = {}
        self._signals: list[tuple[Event, Origin]] = []
        self._swaps: list[tuple[Access, Access, Origin]] = []
        self.block: object = None

    def see(self, event: Event) -> None:
        """The agent makes `event`. Raises NotAffineError where rounds may differ."""
        if isinstance(event, Notify | Wait):
            self._signals.append((event, self._place(event)))
        agent, symbols = self._recorder.agent, self._recorder.symbols
        number = self._recorder.num_events
        access = read_access(event, number, agent.rank, self.block, symbols)
        self._trace_tiles(event, number)
        if access is None:
            return
        self._compare(access)
        self._accesses.add(access)
        if isinstance(event, Store):
            self._stores[number] = access

    def leave(self, view: View) -> View:
        """`view` as the store that the agent has just made gives it."""
        return dataclasses.replace(view, version=self._recorder.num_events)

    def forget(self, number: int) -> None:
        """The agent's events after the first `number` are undone."""
        self._accesses.forget(number)

    def report(self, machine: Machine) -> None:
        """Keep what was found: the signals, or else what may change places."""
        rank = self._recorder.agent.rank
        for event, place in self._signals:
            report_signal(machine, event, self._origin, place, rank)
        for first, second, place in () if self._signals else self._swaps:
            report_swap(machine, first, second, self._origin, place, rank)

    def _place(self, event: Event) -> Origin:
        """The line in the loop's own function: of the call, where one makes `event`."""
        calls = self._recorder.calls[self._depth :]
        return calls[0] if calls else event.origin

    def _trace_tiles(self, event: Event, number: int) -> None:
        """Which remote loads of this loop the tile that `event` defines is made of."""
        tile = tile_defined(event)
        if isinstance(event, RemoteLoad):
            self._made_of[event.tile.id] = frozenset({number})
        elif tile is not None:
            parts = (self._made_of.get(one.id, _NONE) for one in tiles_used(event))
            self._made_of[tile.id] = _NONE.union(*parts)

    def _compare(self, access: Access) -> None:
        earlier = [one for one in self._accesses.before(access) if _clash(one, access)]
        if access.rounds and not all(
            keep_to_their_round(one, access) for one in earlier
        ):
            raise NotAffineError(self._recorder.symbols[0])
        overtaken = [one for one in earlier if self._overtakes(one, access)]
        if not overtaken:
            return
        joined = self._joined_to(access, since=overtaken[0].number)
        for one in overtaken:
            if one.number not in joined:
                self._swaps.append((one, access, self._place(access.event)))

    def _overtakes(self, first: Access, second: Access) -> bool:
        """Whether `second` may move above `first` where no value joins them."""
        match first.event, second.event:
            case _, Load():
                return True
            case Load(), _:
                return False
            case (Store(), RemoteLoad() | RemoteStore()) | (
                RemoteStore(),
                RemoteLoad(),
            ):
                return True
        comes_early = self._is_outer(second) and not self._is_outer(first)
        return comes_early or first.block is not second.block

    def _is_outer(self, access: Access) -> bool:
        """Whether the tile was there before the loop: nothing holds its store back."""
        return access.event.tile.id < self._first_tile

    def _joined_to(self, access: Access, since: int) -> set[int]:
        """The events, from `since` on, from which a value goes to `access`."""
        joined = set(self._made_of.get(access.event.tile.id, _NONE))
        version = access.event.region.view.version
        while version >= since and version in self._stores:
            joined.add(version)
            version = self._stores[version].event.region.view.version
        return joined


def _clash(first: Access, second: Access) -> bool:
    """Whether the order of the two matters."""
    both_add = first.is_atomic and second.is_atomic
    return (first.writes or second.writes) and not both_add and meet(first, second)


@contextmanager
def pipelined(frame: Frame, origin: Origin) -> Iterator[None]:
    """Watch a pl.pipeline loop of a kernel; one inside another belongs to that one."""
    recorder = frame.recorder
    if recorder is None or recorder.pipeline is not None:
        yield
        return
    recorder.pipeline = pipeline = Pipeline(recorder, origin)
    try:
        yield
    finally:
        recorder.pipeline = None
    pipeline.report(frame.machine)


def as_block(body: Run) -> Run:
    """`body`, whose statements the compiler orders among themselves."""
    block = object()

    def run(frame: Frame) -> None:
        pipeline = None if frame.recorder is None else frame.recorder.pipeline
        if pipeline is None:
            body(frame)
            return
        outer, pipeline.block = pipeline.block, block
        try:
            body(frame)
        finally:
            pipeline.block = outer

    return run
