"""Running loops: once for all rounds where that is the same, else round by round.

The body is tried with a symbolic round number. Where a comparison changes its mind at
some round, the rounds before it and from it on are run apart; where something in the
body is not affine, notifies, waits, or is carried into the next round, it unrolls.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from allreduce_gen.ir.events import Event, Origin, Repeat

from .affine import Affine, NotAffineError, Scalar, Symbol, last_round
from .context import Run
from .machine import Frame
from .recorder import Recorder


class ContinueRound(Exception):
    """`continue`: the rest of the round is skipped."""


class Returned(Exception):
    """`return`: the function ends here with `value`."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """A `for` loop that has been read.

    `carried` names are bound before it and in it; `exposed` ones are read in a round
    before that round binds them.
    """

    variable: str
    body: Run
    carried: tuple[str, ...]
    exposed: frozenset[str]
    origin: Origin


def run_loop(loop: Loop, frame: Frame, start: Scalar, step: int, count: int) -> None:
    """Run `count` rounds; the variable counts from `start` by `step`."""
    if frame.recorder is None:
        _unroll(loop, frame, start, step, count)
    elif count > 0:
        _run_rounds(loop, frame, frame.recorder, start, step, count)


def _run_rounds(
    loop: Loop,
    frame: Frame,
    recorder: Recorder,
    start: Scalar,
    step: int,
    count: int,
) -> None:
    if count == 1:
        _unroll(loop, frame, start, step, 1)
        return
    symbol = Symbol(count)
    before = dict(frame.values)
    try:
        events = _try_all_rounds(loop, frame, recorder, start, step, symbol)
    except NotAffineError as error:
        if error.symbol is not symbol:
            raise
        frame.values = before
        cut = error.split
    else:
        if events:
            recorder.emit(Repeat(count=count, body=events, origin=loop.origin))
        return
    if cut is None:
        _unroll(loop, frame, start, step, count)
        return
    _run_rounds(loop, frame, recorder, start, step, cut)
    rest = start + cut * step
    _run_rounds(loop, frame, recorder, rest, step, count - cut)


def _try_all_rounds(
    loop: Loop,
    frame: Frame,
    recorder: Recorder,
    start: Scalar,
    step: int,
    symbol: Symbol,
) -> tuple[Event, ...]:
    """The events of every round at once; NotAffineError where they differ."""
    outer, recorder.events = recorder.events, []
    num_events = recorder.num_events
    carried = {name: frame.values.get(name) for name in loop.carried}
    recorder.symbols.append(symbol)
    try:
        frame.values[loop.variable] = start + Affine(0, ((symbol, step),))
        _run_body(loop, frame)
        _settle(loop, frame.values, carried, symbol)
        return tuple(recorder.events)
    except (NotAffineError, Returned) as error:
        recorder.rewind(num_events)
        if isinstance(error, Returned):  # some round ends the function
            raise NotAffineError(symbol) from None
        raise
    finally:
        recorder.symbols.pop()
        recorder.events = outer


def _settle(
    loop: Loop, values: dict[Any, Any], before: dict[str, Any], symbol: Symbol
) -> None:
    """Leave carried names as the last round does; refuse what rounds hand on."""
    for name, old in before.items():
        new = values.get(name)
        if new is old or new == old:
            continue
        if name in loop.exposed or not isinstance(new, int | Affine):
            raise NotAffineError(symbol)
        values[name] = last_round(new, symbol)


def _unroll(loop: Loop, frame: Frame, start: Scalar, step: int, count: int) -> None:
    frame.count_rounds(count, loop.origin.file or "", loop.origin.line or 0)
    for index in range(count):
        frame.values[loop.variable] = start + index * step
        _run_body(loop, frame)


def _run_body(loop: Loop, frame: Frame) -> None:
    try:
        loop.body(frame)
    except ContinueRound:
        return


def run_all(runs: Iterable[Run]) -> Run:
    """Run one after another."""
    steps = tuple(runs)

    def run(frame: Frame) -> None:
        for step in steps:
            step(frame)

    return run
