"""Notify and wait."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from allreduce_gen.frontend.affine import concrete
from allreduce_gen.frontend.calls import Call, run_concrete
from allreduce_gen.frontend.context import Run, Typed
from allreduce_gen.frontend.machine import Frame
from allreduce_gen.frontend.standins import enums
from allreduce_gen.frontend.types import NoneType, TensorType
from allreduce_gen.ir.events import Notify, NotifyOp, Wait, WaitCmp

_OPS = {
    enums.NotifyOp.AtomicAdd: NotifyOp.ATOMIC_ADD,
    enums.NotifyOp.Set: NotifyOp.SET,
}
_COMPARISONS = {enums.WaitCmp.Ge: WaitCmp.GE, enums.WaitCmp.Eq: WaitCmp.EQ}


def _notify(call: Call) -> Typed:
    arguments = call.bind("target peer offsets value * op")
    signal, offsets = _slot(call, arguments, "target")
    peer = call.integer(arguments["peer"], "peer").run
    value = call.integer(arguments["value"], "value").run
    op = _OPS[call.member(arguments["op"], enums.NotifyOp)]
    origin = call.context.origin(call.node)

    def run(frame: Frame) -> None:
        agent = frame.agent
        view = signal(frame)
        number = frame.machine.peer_of(
            view.buffer, concrete(peer(frame)), frame.rank, origin
        )
        event = Notify(
            peer=number,
            slot=agent.region(view, offsets(frame), (1,) * len(view.shape)),
            value=_int32(call, concrete(value(frame)), "value"),
            op=op,
            origin=origin,
        )
        agent.emit(event)

    return Typed(NoneType(), run)


def _wait(call: Call) -> Typed:
    arguments = call.bind("signal offsets expected * cmp")
    signal, offsets = _slot(call, arguments, "signal")
    expected = call.integer(arguments["expected"], "expected").run
    cmp = _COMPARISONS[call.member(arguments["cmp"], enums.WaitCmp)]
    origin = call.context.origin(call.node)

    def run(frame: Frame) -> None:
        agent = frame.agent
        view = signal(frame)
        event = Wait(
            slot=agent.region(view, offsets(frame), (1,) * len(view.shape)),
            expected=_int32(call, concrete(expected(frame)), "expected"),
            cmp=cmp,
            origin=origin,
        )
        agent.emit(event)

    return Typed(NoneType(), run)


def _int32(call: Call, value: int, name: str) -> int:
    """`value`, which the device holds in a slot of 32 bits."""
    if not -(1 << 31) <= value < 1 << 31:
        raise call.context.refuse(
            call.node,
            f"`{call.name}` has {name}={value}, which no INT32 slot holds",
            help="keep counts within 31 bits",
        )
    return value


def _slot(call: Call, arguments: dict[str, ast.expr], name: str) -> tuple[Run, Run]:
    """The signal, and which of its cells."""
    signal = call.window(arguments[name], name)
    assert isinstance(signal.type, TensorType)
    rank = len(signal.type.shape)
    return signal.run, run_concrete(
        call.integers(arguments["offsets"], "offsets", rank)
    )


SIGNALS: Mapping[str, Callable[[Call], Typed]] = {
    "pld.system.notify": _notify,
    "pld.system.wait": _wait,
}
