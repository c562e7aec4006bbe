"""What the HOST orchestrator does: allocate window buffers and make windows."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from math import prod

from allreduce_gen.frontend.affine import concrete
from allreduce_gen.frontend.calls import Call, run_concrete
from allreduce_gen.frontend.context import Run, Typed
from allreduce_gen.frontend.machine import Frame
from allreduce_gen.frontend.program import Kind
from allreduce_gen.frontend.types import (
    INT64,
    BufferType,
    Dynamic,
    TensorType,
    TupleType,
)
from allreduce_gen.ir.memory import Buffer, View
from allreduce_gen.spec import DType


def _allocate(call: Call) -> Typed:
    """The bytes of a window buffer. The assignment around it names and makes it."""
    arguments = call.bind("size * dtype?")
    _host_only(call)
    size = call.context.expression(arguments["size"])
    run = _num_bytes(call, arguments, size)
    return Typed(BufferType(), run)


def _host_only(call: Call) -> None:
    if call.context.kind is not Kind.HOST:
        raise call.refuse(
            "only the HOST orchestrator makes windows and knows the world size",
            help="make windows there and pass them; in kernels use `pld.nranks(ctx)`",
        )


def _num_bytes(call: Call, arguments: dict[str, ast.expr], size: Typed) -> Run:
    if not isinstance(size.type, TupleType):
        number = call.integer(arguments["size"], "size").run
        return lambda frame: concrete(number(frame))
    if "dtype" not in arguments:
        raise call.refuse(
            "a shape needs `dtype=`", help="give dtype=, or a number of bytes"
        )
    items = call.integers(arguments["size"], "shape", len(size.items))
    nbytes = call.data_type(arguments["dtype"]).nbytes
    extents = run_concrete(items)
    return lambda frame: prod(extents(frame)) * nbytes


def _world_size(call: Call) -> Typed:
    call.bind("")
    _host_only(call)
    return Typed(INT64, lambda frame: frame.machine.num_ranks)


def _window(call: Call) -> Typed:
    arguments = call.bind("buf shape * dtype")
    _host_only(call)
    buffer = call.context.expression(arguments["buf"])
    if not isinstance(buffer.type, BufferType) or not isinstance(
        arguments["buf"], ast.Name
    ):
        raise call.refuse(
            f"`{ast.unparse(arguments['buf'])}` is no window buffer",
            help="pass the name of what pld.alloc_window_buffer returned",
        )
    shape = call.context.expression(arguments["shape"])
    items = call.integers(arguments["shape"], "shape", len(shape.items))
    dtype = call.data_type(arguments["dtype"]).dtype
    if dtype is None:
        raise call.refuse(
            f"no windows of `{ast.unparse(arguments['dtype'])}`",
            help="use a type of one to eight whole bytes",
        )
    dims = tuple(
        one.constant if isinstance(one.constant, int) else Dynamic("?") for one in items
    )
    source, extents = buffer.run, run_concrete(items)
    return Typed(TensorType(dims, dtype, True), _viewer(source, extents, dtype))


def _viewer(source: Run, extents: Run, dtype: DType) -> Run:
    def run(frame: Frame) -> View:
        buffer: Buffer = source(frame)
        return View(name=buffer.name, buffer=buffer, shape=extents(frame), dtype=dtype)

    return run


WINDOWS: Mapping[str, Callable[[Call], Typed]] = {
    "pld.alloc_window_buffer": _allocate,
    "pld.tensor.alloc_window_buffer": _allocate,
    "pld.world_size": _world_size,
    "pld.system.world_size": _world_size,
    "pld.window": _window,
    "pld.tensor.window": _window,
}
