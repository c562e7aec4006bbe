"""pypto's own collectives in kernels: one call that becomes many events."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from allreduce_gen.frontend.calls import Call
from allreduce_gen.frontend.collectives import (
    Crew,
    all_gather,
    all_to_all,
    broadcast,
    mesh_all_reduce,
    reduce_scatter,
    ring_all_reduce,
)
from allreduce_gen.frontend.context import Run, Typed
from allreduce_gen.frontend.machine import Frame
from allreduce_gen.frontend.standins.enums import ReduceOp
from allreduce_gen.frontend.types import TensorType, TileType, format_type
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
    signal_of,
)

_PIECE_BYTES = 16 * 1024
_ALIGNMENT_BYTES = 32


def _mesh_crew(call: Call, frame: Frame, target: View, signal: View) -> Crew:
    members = frame.machine.members(target.buffer)
    if signal.shape[0] != len(members) or signal.shape[1:] not in ((), (1,)):
        raise call.refuse(
            f"the signal has shape {list(signal.shape)} for {len(members)} ranks",
            help=f"give it shape [{len(members)}, 1]",
        )
    return Crew(frame.agent, members, signal, call.context.origin(call.node))


def _room(nbytes: int, size: int) -> int:
    """Elements in a piece: what 16 KiB hold, or all of them in whole 32 bytes."""
    align = _ALIGNMENT_BYTES // nbytes
    return min(_PIECE_BYTES // nbytes, -(-size // align) * align)


def _all_reduce(call: Call) -> Typed:
    arguments = call.bind("target signal? * op? mode? core_num?")
    target = call.window(arguments["target"], "target")
    assert isinstance(target.type, TensorType)
    refuse_dtype(call, target, (DType.FP16, DType.FP32))
    if "signal" not in arguments:
        raise call.refuse("kernels must give a signal", help="pass it second")
    if "core_num" in arguments and call.integer(
        arguments["core_num"], "core_num"
    ).constant not in (1, None):
        raise call.refuse(
            "several cores work for a host's call only", help="leave core_num out"
        )
    op = OPS[reduce_op(call, arguments.get("op"))]
    signal = signal_of(call, arguments["signal"], 2)
    is_ring = mode_of(call, arguments.get("mode")) == "ring"
    run_target, run_signal = target.run, signal.run

    def run(frame: Frame) -> View:
        view: View = run_target(frame)
        if is_ring:
            _ring(call, frame, view, run_signal(frame), op)
        else:
            crew = _mesh_crew(call, frame, view, run_signal(frame))
            room = _room(view.dtype.nbytes, prod(view.shape))
            mesh_all_reduce(crew, view, op, room)
        return view

    return Typed(target.type, run)


def _ring(call: Call, frame: Frame, view: View, signal: View, op: TileOp) -> None:
    members = frame.machine.members(view.buffer)
    ranks, size = len(members), prod(view.shape)
    wanted = (2 * (ranks - 1), ranks)
    if signal.shape != wanted:
        raise call.refuse(
            f"the signal has shape {list(signal.shape)} for {ranks} ranks",
            help=f"give it shape {list(wanted)}",
        )
    crew = Crew(frame.agent, members, signal, call.context.origin(call.node))
    unit = _ALIGNMENT_BYTES // view.dtype.nbytes if view.dtype is DType.FP16 else 1

    def bound(index: int) -> int:
        """Where segment `index` starts; those of FP16 are whole 32 bytes."""
        if unit == 1:
            return index * size // ranks
        return min(size, -(-index * size // (ranks * unit)) * unit)

    longest = -(-size // ranks)
    if unit > 1:
        longest = min(size, longest + unit - 1)
    ring_all_reduce(crew, view, op, bound, _room(view.dtype.nbytes, longest))


def _collective(
    signature: str, work: Callable[[Call, Crew, View, Any], None]
) -> Callable[[Call], Typed]:
    """A collective on `target` with a mesh signal.

    `work` does it for one rank, with the target and the source or the root.
    """

    def read(call: Call) -> Typed:
        arguments = call.bind(signature)
        target = call.window(arguments["target"], "target")
        assert isinstance(target.type, TensorType)
        signal = signal_of(call, arguments["signal"], 2)
        source: Run | None = None
        if reduce_op(call, arguments.get("op")) is not ReduceOp.Sum:
            raise call.refuse("only ReduceOp.Sum is there", help="reduce by hand")
        for name in {"input", "local_data"} & arguments.keys():
            source = _source(call, arguments[name], name).run
        root = 0
        if "root" in arguments:
            root = root_of(call, arguments["root"])

        def run(frame: Frame) -> View:
            view: View = target.run(frame)
            crew = _mesh_crew(call, frame, view, signal.run(frame))
            work(call, crew, view, source(frame) if source else root)
            return view

        return Typed(target.type, run)

    return read


def _source(call: Call, node: ast.expr, what: str) -> Typed:
    source = call.context.expression(node)
    if isinstance(source.type, TensorType | TileType):
        return source
    raise call.refuse(
        f"{what} is {format_type(source.type)}, wanted a tensor or a tile",
        help="pass this rank's part",
    )


def _reduce_scatter(call: Call, crew: Crew, target: View, _: Any) -> None:
    refuse_rows(call, crew, target)
    reduce_scatter(crew, target, TileOp.ADD, prod(target.shape[1:]))


def _all_gather(call: Call, crew: Crew, target: View, source: Any) -> None:
    refuse_rows(call, crew, target)
    all_gather(crew, source, target, prod(target.shape[1:]))


def _all_to_all(call: Call, crew: Crew, target: View, source: Any) -> None:
    refuse_rows(call, crew, target)
    all_to_all(crew, source, target, prod(target.shape[1:]))


def _broadcast(call: Call, crew: Crew, target: View, root: Any) -> None:
    refuse_root(call, crew, root)
    broadcast(crew, target, root, prod(target.shape), paced=False)


def _barrier(call: Call) -> Typed:
    signal = signal_of(call, call.bind("signal")["signal"], 2)
    run_signal = signal.run

    def run(frame: Frame) -> View:
        view: View = run_signal(frame)
        crew = _mesh_crew(call, frame, view, view)
        crew.barrier(1)
        crew.settle(1)
        return view

    return Typed(signal.type, run)


COLLECTIVES: Mapping[str, Callable[[Call], Typed]] = {
    "pld.tensor.barrier": _barrier,
    "pld.tensor.allreduce": _all_reduce,
    "pld.tensor.reduce_scatter": _collective("target signal * op?", _reduce_scatter),
    "pld.tensor.allgather": _collective("local_data target signal", _all_gather),
    "pld.tensor.broadcast": _collective("target signal * root", _broadcast),
    "pld.tensor.all_to_all_v": refuse_counts,
    "pld.tensor.all_to_all": _collective("input target signal", _all_to_all),
}
