"""pypto's own collectives in a host: a kernel of pypto's on every rank."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from math import prod

from allreduce_gen.frontend.calls import Call
from allreduce_gen.frontend.collectives import (
    Crew,
    all_gather,
    all_to_all,
    broadcast,
    host_ring_all_reduce,
    mesh_all_reduce,
    reduce_scatter,
)
from allreduce_gen.frontend.context import Typed
from allreduce_gen.frontend.machine import Frame
from allreduce_gen.frontend.program import Kind
from allreduce_gen.frontend.standins.enums import ReduceOp
from allreduce_gen.frontend.types import TensorType, format_type
from allreduce_gen.ir.events import TileOp
from allreduce_gen.ir.memory import View
from allreduce_gen.spec import DType

from .collective_rules import (
    OPS,
    mode_of,
    reduce_op,
    refuse_counts,
    refuse_dtype,
    refuse_root,
    refuse_rows,
    root_of,
)

_MAX_RANKS = 16
_PIECE = 256
"""Elements that those kernels move at a time."""

_Work = Callable[[Crew, View, int], None]
"""What one block of one rank does: its crew, the target, the block's number."""


def _dispatch(
    call: Call, name: str, target: Typed, signal: Typed, work: _Work, blocks: int = 1
) -> Typed:
    """Run `work` on every rank that the target is dispatched to."""
    run_target, run_signal = target.run, signal.run
    origin = call.context.origin(call.node)

    def run(frame: Frame) -> View:
        machine = frame.machine
        view: View = run_target(frame)
        slots: View = run_signal(frame)
        ranks = sorted(machine.groups.get(view.buffer.name) or range(machine.num_ranks))
        if len(ranks) > _MAX_RANKS:
            raise call.refuse(
                f"{len(ranks)} ranks: pypto's kernel does nothing beyond {_MAX_RANKS}, "
                "and reports no error",
                help="call it in a kernel, or write the collective by hand",
            )
        machine.parts.setdefault(f"builtin.tensor.{name}")
        for rank in ranks:
            machine.pass_window(view.buffer, rank)
            machine.pass_window(slots.buffer, rank)
            machine.start_launch(rank, blocks, origin)
            for block in range(blocks):
                recorder = machine.recorder(rank, block)
                work(Crew(recorder, ranks, slots, origin, block), view, block)
        return view

    return Typed(target.type, run)


def _all_reduce(call: Call) -> Typed:
    arguments = call.bind("target signal? * op? mode? core_num?")
    _host_only(call)
    target = call.window(arguments["target"], "target")
    assert isinstance(target.type, TensorType)
    if "signal" not in arguments:
        raise call.refuse(
            "no signal is given, and pypto fails to make one",
            help="allocate a window of INT32, and pass it second",
        )
    op, dtype = reduce_op(call, arguments.get("op")), target.type.dtype
    if mode_of(call, arguments.get("mode")) == "ring":
        return _ring(call, arguments, target, op)
    refuse_dtype(call, target, (DType.FP16, DType.FP32))
    blocks = _cores(call, arguments.get("core_num"))
    signal = _signal(call, arguments["signal"], 1, 2)
    assert isinstance(signal.type, TensorType)
    lanes = signal.type.shape[1] if len(signal.type.shape) == 2 else 1
    if not isinstance(lanes, int) or lanes < blocks:
        raise call.refuse(
            f"the signal has {lanes} columns for {blocks} cores",
            help="give it shape [ranks, cores]",
        )

    def work(crew: Crew, view: View, block: int) -> None:
        room = min(_PIECE, max(1, prod(view.shape)))
        mesh_all_reduce(crew, view, OPS[op], _aligned(room, view), block, blocks)

    name = f"allreduce__{op.name.lower()}__{dtype.value}"
    return _dispatch(call, name, target, signal, work, blocks)


def _aligned(count: int, view: View) -> int:
    """Room for `count` elements in whole 32 bytes."""
    unit = 32 // view.dtype.nbytes
    return -(-count // unit) * unit


def _ring(
    call: Call, arguments: dict[str, ast.expr], target: Typed, op: ReduceOp
) -> Typed:
    refuse_dtype(call, target, (DType.FP32,))
    _sum_only(call, op)
    signal = _signal(call, arguments["signal"], 2)

    def work(crew: Crew, view: View, _: int) -> None:
        if prod(view.shape) % crew.size:
            raise call.refuse(
                f"{prod(view.shape)} elements do not divide by {crew.size} ranks",
                help="pad the data, or use mode='mesh'",
            )
        host_ring_all_reduce(crew, view, OPS[op], _PIECE)

    return _dispatch(call, "allreduce_ring__sum__fp32", target, signal, work)


def _sum_only(call: Call, op: ReduceOp) -> None:
    if op is not ReduceOp.Sum:
        raise call.refuse(f"ReduceOp.{op.name} is not there", help="use ReduceOp.Sum")


def _cores(call: Call, node: ast.expr | None) -> int:
    cores = 1 if node is None else call.integer(node, "core_num").constant
    if not isinstance(cores, int) or cores < 1:
        raise call.refuse("core_num is no constant from 1 on", help="give a literal")
    return cores


def _signal(call: Call, node: ast.expr, *dims: int) -> Typed:
    signal = call.window(node, "signal")
    assert isinstance(signal.type, TensorType)
    if signal.type.dtype is not DType.INT32 or len(signal.type.shape) not in dims:
        raise call.refuse(
            f"signal is {format_type(signal.type)}, wanted INT32 of "
            f"{' or '.join(map(str, dims))} dimensions",
            help="a host's signal is [ranks]; a ring's is [2 * (ranks - 1) + 1, ranks]",
        )
    return signal


def _host_only(call: Call) -> None:
    if call.context.kind is not Kind.HOST:
        raise call.refuse(
            "Orchestration functions call kernels, and no collectives",
            help="call it in the HOST orchestrator or in a kernel",
        )


def _reduce_scatter(call: Call) -> Typed:
    arguments = call.bind("target signal * op?")
    _host_only(call)
    target = call.window(arguments["target"], "target")
    refuse_dtype(call, target, (DType.FP32,))
    _sum_only(call, reduce_op(call, arguments.get("op")))

    def work(crew: Crew, view: View, _: int) -> None:
        reduce_scatter(crew, refuse_rows(call, crew, view), TileOp.ADD, _PIECE)

    signal = _signal(call, arguments["signal"], 1)
    return _dispatch(call, "reduce_scatter__sum__fp32", target, signal, work)


def _broadcast(call: Call) -> Typed:
    arguments = call.bind("target signal * root")
    _host_only(call)
    target = call.window(arguments["target"], "target")
    refuse_dtype(call, target, (DType.FP32,))
    root = root_of(call, arguments["root"])

    def work(crew: Crew, view: View, _: int) -> None:
        refuse_root(call, crew, root)
        broadcast(crew, view, root, _PIECE, paced=True)

    signal = _signal(call, arguments["signal"], 1)
    return _dispatch(call, f"broadcast__root{root}__fp32", target, signal, work)


def _exchange(
    name: str, source_name: str, move: Callable[[Crew, View, View, int], None]
) -> Callable[[Call], Typed]:
    """All-gather or all-to-all: from a window of this rank's to everybody's."""

    def read(call: Call) -> Typed:
        arguments = call.bind(f"{source_name} target signal")
        _host_only(call)
        source = call.window(arguments[source_name], source_name)
        target = call.window(arguments["target"], "target")
        refuse_dtype(call, target, (DType.FP32,))
        views: dict[str, View] = {}

        def work(crew: Crew, view: View, _: int) -> None:
            move(crew, views["source"], refuse_rows(call, crew, view), _PIECE)

        signal = _signal(call, arguments["signal"], 1)
        dispatched = _dispatch(call, f"{name}__fp32", target, signal, work)

        def run(frame: Frame) -> View:
            views["source"] = source.run(frame)
            view: View = dispatched.run(frame)
            for rank in frame.machine.groups[view.buffer.name]:
                frame.machine.pass_window(views["source"].buffer, rank)
            return view

        return Typed(target.type, run)

    return read


def _barrier(call: Call) -> Typed:
    node = call.bind("signal")["signal"]
    _host_only(call)
    signal = _signal(call, node, 1)

    def work(crew: Crew, _: View, block: int) -> None:
        del block
        crew.barrier(1)
        crew.settle(1)

    return _dispatch(call, "barrier__fp32", signal, signal, work)


HOST_COLLECTIVES: Mapping[str, Callable[[Call], Typed]] = {
    "pld.tensor.barrier": _barrier,
    "pld.tensor.allreduce": _all_reduce,
    "pld.tensor.reduce_scatter": _reduce_scatter,
    "pld.tensor.allgather": _exchange("allgather", "local_data", all_gather),
    "pld.tensor.broadcast": _broadcast,
    "pld.tensor.all_to_all_v": refuse_counts,
    "pld.tensor.all_to_all": _exchange("all_to_all", "input", all_to_all),
}
