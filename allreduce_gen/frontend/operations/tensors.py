"""What Orchestration functions do to tensors before they pass them on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from math import prod

from allreduce_gen.frontend.calls import Call, run_concrete
from allreduce_gen.frontend.context import Typed
from allreduce_gen.frontend.machine import Frame
from allreduce_gen.frontend.program import Kind
from allreduce_gen.frontend.types import Dynamic, TensorType
from allreduce_gen.ir.memory import Buffer, BufferKind, View


def _reshape(call: Call) -> Typed:
    """The same memory with other dimensions."""
    arguments = call.bind("tensor shape")
    tensor = call.tensor(arguments["tensor"], "tensor")
    assert isinstance(tensor.type, TensorType)
    if call.context.kind is not Kind.ORCHESTRATION or tensor.type.is_window:
        raise call.refuse(
            "only Orchestration functions reshape tensors, and no windows",
            help="reshape x or y in the Orchestration function",
        )
    shape = call.shape(arguments["shape"])
    known = [dim for dim in tensor.type.shape if isinstance(dim, int)]
    if len(known) != len(tensor.type.shape) or prod(known) != prod(shape):
        raise call.refuse(
            f"{list(known)} does not have as many elements as {list(shape)}",
            help="keep the number of elements, with constant dimensions",
        )
    source = tensor.run

    def run(frame: Frame) -> View:
        view: View = source(frame)
        return dataclasses.replace(view, shape=shape)

    return Typed(TensorType(shape, tensor.type.dtype), run)


def _create(call: Call) -> Typed:
    """Host memory of the program's own, whose contents are unknown."""
    arguments = call.bind("shape dtype? *")
    if call.context.kind is not Kind.HOST:
        raise call.refuse(
            "only the HOST orchestrator makes tensors here",
            help="make it in the host, and pass it",
        )
    if "dtype" not in arguments:
        raise call.refuse("no element type is given", help="give dtype=pl.FP32")
    dtype = call.data_type(arguments["dtype"]).dtype
    items = call.context.expression(arguments["shape"])
    extents = call.integers(arguments["shape"], "shape", len(items.items))
    if dtype is None:
        raise call.refuse("no such tensors are interpreted", help="use pl.FP32")
    dims = tuple(
        one.constant if isinstance(one.constant, int) else Dynamic("?")
        for one in extents
    )
    sizes = run_concrete(extents)

    def run(frame: Frame) -> View:
        shape = sizes(frame)
        buffer = Buffer(
            name=f"tensor_{len(frame.machine.scratch) + 1}",
            kind=BufferKind.SCRATCH,
            nbytes=prod(shape) * dtype.nbytes,
        )
        frame.machine.scratch[buffer.name] = buffer
        return View(name=buffer.name, buffer=buffer, shape=shape, dtype=dtype)

    return Typed(TensorType(dims, dtype), run)


TENSORS: Mapping[str, Callable[[Call], Typed]] = {
    "pl.create_tensor": _create,
    "pl.tensor.create": _create,
    "pl.reshape": _reshape,
    "pl.tensor.reshape": _reshape,
}
