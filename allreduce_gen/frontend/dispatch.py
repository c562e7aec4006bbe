"""Reading calls: what is called, an operation or a function of the program."""

from __future__ import annotations

import ast

from .calls import Call
from .closures import try_evaluate
from .context import Context, Typed
from .launching import read_function_call
from .operations import HOST_OPERATIONS, KERNEL_OPERATIONS
from .program import Function, Kind
from .refusals import REFUSED_CALLS
from .standins import DATA_TYPES, Decorated, Operation
from .types import INDEX


def read_call(context: Context, node: ast.Call) -> Typed:
    """A call. Raises CompileError AR703 for what is no operation or function here."""
    callee = _find_callee(context, node)
    if callee is not None:
        return read_function_call(context, node, callee)
    size = _bytes_of_type(node)
    if size is not None:
        return Typed(INDEX, lambda _: size, constant=size)
    found = try_evaluate(context, node.func)
    if isinstance(found, Operation):
        return _read_operation(context, node, found.name)
    text = ast.unparse(node.func)
    refused = REFUSED_CALLS.get(text)
    raise context.refuse(
        node,
        f"`{text}(...)` is a Python call: "
        + (f"kernels do not have {refused.what}" if refused else "nothing runs it"),
        help=refused.instead if refused else "compute it outside the kernel",
    )


def _bytes_of_type(node: ast.Call) -> int | None:
    """`pl.FP32.get_byte()`, spelled out."""
    match node.func:
        case ast.Attribute(value=ast.Attribute(attr=name), attr="get_byte"):
            return DATA_TYPES[name].nbytes if name in DATA_TYPES else None
    return None


def _read_operation(context: Context, node: ast.Call, name: str) -> Typed:
    on_chip = context.kind in (Kind.INCORE, Kind.INLINE)
    table = KERNEL_OPERATIONS if on_chip else HOST_OPERATIONS
    handler = table.get(name)
    if handler is not None:
        return handler(Call(context, node, name))
    elsewhere = HOST_OPERATIONS if on_chip else KERNEL_OPERATIONS
    place = "not in a function of this kind" if name in elsewhere else "not interpreted"
    raise context.refuse(
        node,
        f"`{name}` is {place} ({context.kind.value})",
        help="InCore kernels load, compute, store and signal; orchestrators make "
        "windows and call other functions",
    )


def _find_callee(context: Context, node: ast.Call) -> Function | None:
    """The program's own function that `node` calls, where it calls one."""
    match node.func:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            found = context.program.find(name)
            if found is None or not _comes_before(found, context.function):
                raise context.refuse(
                    node,
                    f"`self.{name}` is not defined before {context.function.name}",
                    help="define functions before those that call them",
                )
            return found
        case ast.Name(id=name):
            value = context.function.closure.get(name)
            if isinstance(value, Decorated):
                return context.program.find(value.name)
    return None


def _comes_before(callee: Function, caller: Function) -> bool:
    if callee.position is None or caller.position is None:
        return True
    return callee.position < caller.position
