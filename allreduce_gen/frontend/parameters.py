"""Passing values to another function's parameters."""

from __future__ import annotations

import ast
from typing import Any

from allreduce_gen.ir.memory import View

from .context import Context, Run, Typed
from .machine import Frame
from .operators import is_integer
from .program import Function, Parameter
from .types import Dynamic, ScalarType, TensorType, format_type


def bind_arguments(context: Context, node: ast.Call, callee: Function) -> Run:
    """What gives the callee's names their values, a dynamic dimension's among them."""
    if len(node.args) != len(callee.parameters):
        raise context.refuse(
            node,
            f"{callee.name} takes {len(callee.parameters)} arguments, got "
            f"{len(node.args)}",
            help=f"pass {', '.join(one.name for one in callee.parameters)}",
        )
    pairs = [
        (parameter, _read_argument(context, argument, parameter, callee))
        for argument, parameter in zip(node.args, callee.parameters, strict=True)
    ]

    def run(frame: Frame) -> dict[Any, Any]:
        values: dict[Any, Any] = {}
        for parameter, typed in pairs:
            value = typed.run(frame)
            if isinstance(parameter.type, TensorType):
                value = bind_view(parameter.name, parameter.type, value, values)
            values[parameter.name] = value
        return values

    return run


def bind_view(
    name: str, type_: TensorType, passed: View, values: dict[Any, Any]
) -> View:
    """`passed` as the parameter declares it; dynamic dimensions go into `values`."""
    shape = []
    for position, dim in enumerate(type_.shape):
        if isinstance(dim, Dynamic):
            dim = values.setdefault(dim, passed.shape[position])
        shape.append(dim)
    return View(
        name=name,
        buffer=passed.buffer,
        shape=tuple(shape),
        dtype=type_.dtype,
        start=passed.start,
        version=passed.version,
    )


def _read_argument(
    context: Context, node: ast.expr, parameter: Parameter, callee: Function
) -> Typed:
    typed = context.expression(node)
    if not _fits(typed, parameter):
        raise context.refuse(
            node,
            f"{callee.name} takes {parameter.name} as {format_type(parameter.type)}, "
            f"got `{ast.unparse(node)}` of {format_type(typed.type)}",
            help="pass a value of the type that the parameter declares",
        )
    return typed


def _fits(typed: Typed, parameter: Parameter) -> bool:
    wanted, given = parameter.type, typed.type
    if isinstance(wanted, ScalarType):
        return given == wanted or (is_integer(given) and is_integer(wanted))
    if not isinstance(given, TensorType) or not isinstance(wanted, TensorType):
        return False
    if given.dtype is not wanted.dtype:
        return False
    if wanted.is_window and not given.is_window:
        return False
    if not wanted.is_static:
        return len(wanted.shape) == len(given.shape)
    return given.is_window or not _leaves_a_rest(given, wanted)


def _leaves_a_rest(given: TensorType, wanted: TensorType) -> bool:
    """Whether elements of a tensor that is passed are out of the callee's reach."""
    return given.is_static and given.num_elems > wanted.num_elems
