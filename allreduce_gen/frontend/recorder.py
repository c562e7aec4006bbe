"""One agent's events while its kernel is interpreted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from allreduce_gen.ir.events import Event, Notify, Origin, Tile, Wait
from allreduce_gen.ir.memory import Region, View
from allreduce_gen.ir.trace import Agent
from allreduce_gen.ir.widen import MAX_EVENTS
from allreduce_gen.spec import DType

from .affine import NotAffineError, Scalar, Symbol, base_of, coefficient, concrete
from .refusals import refusal


class Rounds:
    """How many rounds of loops one agent, or the host, has run one by one."""

    def __init__(self) -> None:
        self._count = 0

    def add(self, count: int, file: str, line: int) -> None:
        """A loop is about to unroll. Raises CompileError AR703 beyond MAX_EVENTS."""
        self._count += count
        if self._count > MAX_EVENTS:
            raise _too_many(file, line)


def _too_many(file: str, line: int | None) -> Exception:
    return refusal(
        file,
        line,
        f"one agent makes more than {MAX_EVENTS} events or rounds here, and they are "
        "not the same in every round",
        help="make offsets a constant times the loop variable, without `%` and `//`, "
        "and keep peers, notify and wait out of long loops",
    )


class Watch(Protocol):
    """Who looks at the events of a loop whose body is reordered."""

    block: object

    def see(self, event: Event) -> None: ...

    def leave(self, view: View) -> View: ...

    def forget(self, number: int) -> None: ...


class Recorder:
    """One agent's events so far, and the loops around the present point.

    `symbols` are those of the loops that run once for all rounds, outermost first;
    `calls` the calls of inlined functions around; `pipeline` looks at the events of
    the pl.pipeline loop around.
    """

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.events: list[Event] = []
        self.symbols: list[Symbol] = []
        self.num_events = 0
        self.num_tiles = 0
        self.rounds = Rounds()
        self.calls: list[Origin] = []
        self.pipeline: Watch | None = None

    def emit(self, event: Event) -> None:
        """Append `event`. Raises CompileError AR703 beyond MAX_EVENTS."""
        if self.symbols and isinstance(event, Notify | Wait):
            raise NotAffineError(self.symbols[0])
        self.events.append(event)
        self.num_events += 1
        if self.num_events > MAX_EVENTS:
            raise _too_many(event.origin.file or "", event.origin.line)
        if self.pipeline is not None:
            self.pipeline.see(event)

    def rewind(self, number: int) -> None:
        """Only the first `number` events stand; `events` is the caller's to restore."""
        self.num_events = number
        if self.pipeline is not None:
            self.pipeline.forget(number)

    def left_by_store(self, view: View) -> View:
        """`view` as the store that was just emitted gives it."""
        return view if self.pipeline is None else self.pipeline.leave(view)

    @contextmanager
    def calling(self, origin: Origin) -> Iterator[None]:
        """What is emitted comes from a function that is called at `origin`."""
        self.calls.append(origin)
        try:
            yield
        finally:
            self.calls.pop()

    def new_tile(
        self, shape: tuple[int, ...], dtype: DType, valid: tuple[int, ...]
    ) -> Tile:
        """A tile that no other event of this agent names."""
        self.num_tiles += 1
        return Tile(id=self.num_tiles - 1, shape=shape, dtype=dtype, valid=valid)

    def region(
        self, view: View, offsets: tuple[Scalar, ...], shape: tuple[int, ...]
    ) -> Region:
        """The box at `offsets`, with its stride for each loop around."""
        if not self.symbols:
            return Region(view=view, offsets=tuple(map(concrete, offsets)), shape=shape)
        return Region(
            view=view,
            offsets=tuple(map(base_of, offsets)),
            shape=shape,
            strides=tuple(
                tuple(coefficient(one, symbol) for one in offsets)
                for symbol in self.symbols
            ),
        )
