"""Calls of the program's own functions: dispatches, kernel launches, inlining."""

from __future__ import annotations

import ast

from allreduce_gen.ir.memory import Buffer, View

from .affine import concrete
from .context import Context, Routine, Run, Typed
from .machine import Frame
from .operators import is_integer
from .parameters import bind_arguments
from .program import Function, Kind
from .standins import Direction

_CALLABLE = {
    Kind.HOST: (Kind.ORCHESTRATION,),
    Kind.ORCHESTRATION: (Kind.INCORE,),
    Kind.INCORE: (Kind.INLINE,),
    Kind.INLINE: (Kind.INLINE,),
}
"""Which kinds of functions each kind calls."""


def read_function_call(context: Context, node: ast.Call, callee: Function) -> Typed:
    """A call of `callee`, with its arguments bound by position."""
    given = tuple(context.expression(one) for one in node.args)
    callee = context.specialise(callee, given)
    device = _check_call(context, node, callee)
    routine = context.routine(callee)
    bind = bind_arguments(context, node, callee)
    for argument, parameter in zip(node.args, callee.parameters, strict=True):
        is_given = parameter.direction is not Direction.IN
        if (
            isinstance(argument, ast.Name)
            and is_given
            and callee.kind is not Kind.INLINE
        ):
            context.scope.given_away[argument.id] = node.lineno
    runs = {
        Kind.ORCHESTRATION: _dispatch,
        Kind.INCORE: _launch,
        Kind.INLINE: _inline,
    }
    return Typed(
        routine.result, runs[callee.kind](context, node, routine, bind, device)
    )


def _check_call(context: Context, node: ast.Call, callee: Function) -> Run:
    """Refuse calls across the wrong levels; gives the device where there is one."""
    if callee.kind not in _CALLABLE[context.kind]:
        raise context.refuse(
            node,
            f"{context.kind.value} function {context.function.name} calls "
            f"{callee.kind.value} function {callee.name}",
            help="the HOST orchestrator calls Orchestration functions, which call "
            "InCore kernels",
        )
    wants_device = callee.kind is Kind.ORCHESTRATION
    devices = [one.value for one in node.keywords if one.arg == "device"]
    if len(node.keywords) != len(devices) or bool(devices) != wants_device:
        raise context.refuse(
            node,
            f"{callee.name} is called with keywords "
            f"({', '.join(str(one.arg) for one in node.keywords) or 'none'})",
            help="pass arguments by position; `device=` goes with calls of "
            "Orchestration functions, and with those alone",
        )
    if not devices:
        return lambda _: 0
    device = devices[0]
    is_loop = isinstance(device, ast.Name) and (
        device.id in context.scope.loop_variables
    )
    typed = context.expression(device)
    if not is_loop and (typed.constant is None or not is_integer(typed.type)):
        raise context.refuse(
            node,
            f"`device={ast.unparse(device)}` is neither a constant integer nor a loop "
            "variable",
            help="write `for r in pl.range(pld.world_size())` and `device=r`",
        )
    return typed.run


def _dispatch(
    context: Context, node: ast.Call, routine: Routine, bind: Run, device: Run
) -> Run:
    """Run an Orchestration function on the rank of `device`."""

    def run(frame: Frame) -> View | None:
        rank = concrete(device(frame))
        if not 0 <= rank < frame.machine.num_ranks:
            raise context.refuse(
                node,
                f"device {rank} is not one of {frame.machine.num_ranks} ranks",
                help="dispatch to 0 up to the number of ranks less one",
            )
        values = bind(frame)
        windows = [
            one
            for one in values.values()
            if isinstance(one, View) and one.buffer.is_window
        ]
        _refuse_twice(context, node, windows)
        for window in windows:
            frame.machine.pass_window(window.buffer, rank)
        frame.machine.parts.setdefault(routine.function.name)
        result: View | None = routine.run(Frame(frame.machine, values, rank=rank))
        return result

    return run


def _refuse_twice(context: Context, node: ast.Call, windows: list[View]) -> None:
    """pypto's runtime takes no task with two arguments in the same bytes."""
    known: dict[Buffer, View] = {}
    for window in windows:
        if window.buffer in known:
            raise context.refuse(
                node,
                f"{known[window.buffer].name} and {window.name} are both windows of "
                f"the buffer {window.buffer.name}, in one dispatch",
                help="allocate a buffer for each, or dispatch twice",
            )
        known[window.buffer] = window


def _launch(
    context: Context, node: ast.Call, routine: Routine, bind: Run, device: Run
) -> Run:
    """Run a kernel on every block of the rank."""
    del device
    origin = context.origin(node)

    def run(frame: Frame) -> View | None:
        machine, rank, blocks = frame.machine, frame.rank, frame.blocks
        machine.start_launch(rank, blocks, origin)
        result: View | None = None
        for block in range(blocks):
            recorder = machine.recorder(rank, block)
            inner = Frame(machine, bind(frame), rank=rank, recorder=recorder)
            inner.blocks = blocks
            result = routine.run(inner)
        return result

    return run


def _inline(
    context: Context, node: ast.Call, routine: Routine, bind: Run, device: Run
) -> Run:
    """Run a function in place, as part of its caller."""
    del device
    origin = context.origin(node)

    def run(frame: Frame) -> View | None:
        recorder = frame.agent
        inner = Frame(frame.machine, bind(frame), rank=frame.rank, recorder=recorder)
        inner.blocks = frame.blocks
        with recorder.calling(origin):
            result: View | None = routine.run(inner)
        return result

    return run
