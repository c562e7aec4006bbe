"""Small programs at random: what each rank does, as a trace and as source text.

They are put together from what programs are made of (barriers, handshakes, counters,
Sets, credits, reads and writes), and then broken here and there.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

from allreduce_gen.ir.events import (
    Event,
    Fill,
    Notify,
    NotifyOp,
    Origin,
    RemoteLoad,
    RemoteStore,
    Tile,
    Wait,
    WaitCmp,
)
from allreduce_gen.ir.memory import Buffer, BufferKind, Region, View
from allreduce_gen.ir.trace import Agent, AgentTrace, Trace
from allreduce_gen.spec import DType

from .sources import write_program

ROWS, COLUMNS, LENGTH, SIZE = 3, 4, 8, 32


class Kind(enum.Enum):
    NOTIFY = "notify"
    WAIT = "wait"
    READ = "read"
    WRITE = "write"
    ADD = "add"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that one rank does; `at` is a slot's row and column, or an element."""

    kind: Kind
    peer: int = 0
    at: tuple[int, int] = (0, 0)
    value: int = 1
    is_set: bool = False
    is_equal: bool = False


Script = list[Step]
Scripts = list[Script]
Phase = Callable[[Scripts], None]


def _barrier(row: int, expected: int, is_set: bool, is_equal: bool) -> Phase:
    def add(scripts: Scripts) -> None:
        for me, script in enumerate(scripts):
            peers = [peer for peer in range(len(scripts)) if peer != me]
            script += [
                Step(kind=Kind.NOTIFY, peer=peer, at=(row, me), is_set=is_set)
                for peer in peers
            ]
            script += [
                Step(kind=Kind.WAIT, at=(row, peer), value=expected, is_equal=is_equal)
                for peer in peers
            ]

    return add


def _counter(row: int, rounds: int, is_equal: bool) -> Phase:
    """A barrier on one cell that everybody raises."""

    def add(scripts: Scripts) -> None:
        count = len(scripts)
        for me, script in enumerate(scripts):
            script += [
                Step(kind=Kind.NOTIFY, peer=peer, at=(row, 0))
                for peer in range(count)
                if peer != me
            ]
            wanted = rounds * (count - 1)
            script.append(
                Step(kind=Kind.WAIT, at=(row, 0), value=wanted, is_equal=is_equal)
            )

    return add


def _handshake(row: int, expected: int, by: int) -> Phase:
    def add(scripts: Scripts) -> None:
        count = len(scripts)
        for me, script in enumerate(scripts):
            to, source = (me + by) % count, (me - by) % count
            script.append(Step(kind=Kind.NOTIFY, peer=to, at=(row, me)))
            script.append(Step(kind=Kind.WAIT, at=(row, source), value=expected))

    return add


def _credits(row: int, value: int, by_owner: bool) -> Phase:
    """Every slot of a row lowered, by the rank that waits on it or by its sender."""

    def add(scripts: Scripts) -> None:
        for me, script in enumerate(scripts):
            for peer in range(len(scripts)):
                if peer != me:
                    to, at = (me, (row, peer)) if by_owner else (peer, (row, me))
                    script.append(Step(kind=Kind.NOTIFY, peer=to, at=at, value=-value))

    return add


def _touch(kind: Kind, by: int, start: int) -> Phase:
    def add(scripts: Scripts) -> None:
        for me, script in enumerate(scripts):
            peer = (me + by) % len(scripts)
            script.append(Step(kind=kind, peer=peer, at=(0, start)))

    return add


_row, _flag = st.integers(0, ROWS - 1), st.booleans()
_seldom = st.sampled_from([False, False, False, True])
_PHASES = st.one_of(
    st.builds(_barrier, _row, st.integers(1, 2), _seldom, _seldom),
    st.builds(_counter, _row, st.integers(1, 2), _seldom),
    st.builds(_handshake, _row, st.integers(1, 2), st.integers(1, 3)),
    st.builds(_credits, _row, st.integers(1, 2), _flag),
    st.builds(
        _touch,
        st.sampled_from([Kind.READ, Kind.READ, Kind.WRITE, Kind.WRITE, Kind.ADD]),
        st.integers(0, 2),
        st.sampled_from([0, 4, 8]),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakage:
    """What is done to step `at` (modulo their number) of rank `rank` (likewise)."""

    rank: int
    at: int
    how: str

    def apply(self, scripts: Scripts) -> None:
        script = scripts[self.rank % len(scripts)]
        if not script:
            return
        at = self.at % len(script)
        step = script[at]
        match self.how:
            case "drop":
                del script[at]
            case "double":
                script.insert(at, step)
            case "swap":
                script[at - 1], script[at] = step, script[at - 1]
            case "more":
                script[at] = dataclasses.replace(step, value=step.value + 1)
            case "set":
                script[at] = dataclasses.replace(step, is_set=True)
            case _:
                peer = (step.peer + 1) % len(scripts)
                script[at] = dataclasses.replace(step, peer=peer)


_BREAKAGES = st.builds(
    Breakage,
    rank=st.integers(0, 3),
    at=st.integers(0, 30),
    how=st.sampled_from(["drop", "double", "swap", "more", "set", "peer"]),
)


@st.composite
def scripts(draw: st.DrawFn) -> tuple[tuple[Step, ...], ...]:
    """What each of 2 to 4 ranks does."""
    num_ranks = draw(st.integers(2, 4))
    written: Scripts = [[] for _ in range(num_ranks)]
    for phase in draw(st.lists(_PHASES, min_size=1, max_size=6)):
        phase(written)
    for breakage in draw(st.lists(_BREAKAGES, max_size=2)):
        breakage.apply(written)
    return tuple(map(tuple, written))


def to_trace(program: tuple[tuple[Step, ...], ...]) -> Trace:
    """The trace, event by event; each event has a line of its own."""
    data = _window("data", (1, SIZE), DType.FP32)
    signal = _window("signal", (ROWS, COLUMNS), DType.INT32)
    agents = tuple(
        AgentTrace(
            agent=Agent(rank=rank), events=tuple(_events(rank, script, data, signal))
        )
        for rank, script in enumerate(program)
    )
    return Trace(
        num_ranks=len(program),
        platform="a2a3sim",
        buffers=(data.buffer, signal.buffer),
        agents=agents,
    )


def _window(name: str, shape: tuple[int, int], dtype: DType) -> View:
    nbytes = shape[0] * shape[1] * dtype.nbytes
    buffer = Buffer(name=name, kind=BufferKind.WINDOW, nbytes=nbytes)
    return View(name=name, buffer=buffer, shape=shape, dtype=dtype)


def _events(
    rank: int, script: tuple[Step, ...], data: View, signal: View
) -> list[Event]:
    events: list[Event] = []
    for number, step in enumerate(script):
        origin = Origin(file="random.py", line=100 * rank + number)
        tile = Tile(id=number, shape=(1, LENGTH), dtype=DType.FP32, valid=(1, LENGTH))
        region = Region(view=data, offsets=step.at, shape=(1, LENGTH))
        slot = Region(view=signal, offsets=step.at, shape=(1, 1))
        match step.kind:
            case Kind.NOTIFY:
                op = NotifyOp.SET if step.is_set else NotifyOp.ATOMIC_ADD
                events.append(
                    Notify(
                        peer=step.peer,
                        slot=slot,
                        value=step.value,
                        op=op,
                        origin=origin,
                    )
                )
            case Kind.WAIT:
                cmp = WaitCmp.EQ if step.is_equal else WaitCmp.GE
                events.append(
                    Wait(slot=slot, expected=step.value, cmp=cmp, origin=origin)
                )
            case Kind.READ:
                events.append(
                    RemoteLoad(tile=tile, peer=step.peer, region=region, origin=origin)
                )
            case Kind.WRITE | Kind.ADD:
                events.append(Fill(tile=tile, value=1.0, origin=origin))
                events.append(
                    RemoteStore(
                        tile=tile,
                        peer=step.peer,
                        region=region,
                        atomic=step.kind is Kind.ADD,
                        origin=origin,
                    )
                )
    return events


def to_source(program: tuple[tuple[Step, ...], ...]) -> str:
    """The text of a file that does the same; each step is one line."""
    lines = ["one = pl.tile.full([1, 8], dtype=pl.FP32, value=1.0)"]
    for rank, script in enumerate(program):
        if script:
            lines.append(f"if my_rank == {rank}:")
            lines += [
                f"    {_line(step, number)}" for number, step in enumerate(script)
            ]
    return write_program(
        "\n".join(lines),
        num_ranks=len(program),
        windows={"data": f"[1, {SIZE}]"},
        signal=f"[{ROWS}, {COLUMNS}]",
    )


def _line(step: Step, number: int) -> str:
    row, column = step.at
    peer, at = f"pl.const({step.peer}, pl.INT32)", f"[{row}, {column}]"
    match step.kind:
        case Kind.NOTIFY:
            op = "Set" if step.is_set else "AtomicAdd"
            return (
                f"pld.system.notify(signal, {step.peer}, {at}, {step.value}, "
                f"op=pld.NotifyOp.{op})"
            )
        case Kind.WAIT:
            cmp = "Eq" if step.is_equal else "Ge"
            return f"pld.system.wait(signal, {at}, {step.value}, cmp=pld.WaitCmp.{cmp})"
        case Kind.READ:
            return (
                f"t{number} = pld.tile.remote_load(data, {peer}, {at}, [1, {LENGTH}])"
            )
        case _:
            atomic = "Add" if step.kind is Kind.ADD else "None_"
            return (
                f"pld.tile.remote_store(one, data, {step.peer}, {at}, "
                f"atomic=pl.AtomicType.{atomic})"
            )
