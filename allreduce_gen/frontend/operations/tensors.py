"""What Orchestration functions do to tensors before they pass them on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from math import prod

from allreduce_gen.frontend.calls import Call
from allreduce_gen.frontend.context import Typed
from allreduce_gen.frontend.machine import Frame
from allreduce_gen.frontend.program import Kind
from allreduce_gen.frontend.types import TensorType
from allreduce_gen.ir.memory import View


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


TENSORS: Mapping[str, Callable[[Call], Typed]] = {
    "pl.reshape": _reshape,
    "pl.tensor.reshape": _reshape,
}
