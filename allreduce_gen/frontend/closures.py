"""Python values that kernels use from outside: what they may be, and their types."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from typing import Any

from .context import Context, Run, Typed, constant
from .machine import Frame
from .standins import DataType, DynamicDim
from .types import BOOL, FLOAT, INDEX, Dynamic, TupleType

_FOLDABLE = (
    ast.BinOp,
    ast.UnaryOp,
    ast.Constant,
    ast.operator,
    ast.unaryop,
    ast.expr_context,
)
_MISSING = object()


def can_fold(context: Context, node: ast.expr) -> bool:
    """Whether `node` is arithmetic of literals and outer names only."""
    for child in ast.walk(node):
        if isinstance(child, ast.Name):
            if context.scope.type_of(child.id) is not None:
                return False
        elif not isinstance(child, _FOLDABLE) or isinstance(child, ast.Not):
            return False
    return True


def evaluate_outside(context: Context, node: ast.expr) -> Any:
    """What `node` stands for among the outer names. Raises any error it raises."""
    code = compile(ast.Expression(body=node), context.function.file, "eval")
    return eval(code, {"__builtins__": builtins}, dict(context.function.closure))


def try_evaluate(context: Context, node: ast.expr) -> Any:
    """As evaluate_outside, or None where that fails; no call is made for it."""
    if any(isinstance(child, ast.Call) for child in ast.walk(node)):
        return None
    try:
        return evaluate_outside(context, node)
    except Exception:
        return None


def outer_name(context: Context, node: ast.Name) -> Typed:
    """The value of a name that the function does not bind itself."""
    value = context.function.closure.get(node.id, _MISSING)
    if value is _MISSING:
        raise context.refuse(
            node,
            f"the name {node.id} is not defined here",
            help="bind it before this line, or make it a module constant; class "
            "attributes are not visible in kernels",
        )
    return outer_value(context, node, value)


def outer_value(context: Context, node: ast.expr, value: Any) -> Typed:
    """`value`, which `node` names, as an expression."""
    match value:
        case bool():
            return constant(BOOL, value)
        case int():
            return constant(INDEX, value)
        case float():
            return constant(FLOAT, value)
        case list() | tuple():
            items = tuple(outer_value(context, node, item) for item in value)
            type_ = TupleType(tuple(item.type for item in items))
            return Typed(
                type_,
                lambda frame: tuple(item.run(frame) for item in items),
                items=items,
            )
        case DynamicDim() as dim:
            known = Dynamic(dim.name, dim.extent)
            return Typed(INDEX, _extent(context, node, known))
    raise context.refuse(
        node,
        f"`{ast.unparse(node)}` is a {type(value).__name__}, which kernels cannot use",
        help="use int, float, bool, or a list or tuple of them",
    )


def _extent(context: Context, node: ast.expr, dim: Dynamic) -> Run:
    """The extent of a dynamic dimension, known where a tensor with it is passed."""

    def run(frame: Frame) -> int:
        extent: int | None = frame.values.get(dim)
        if extent is None:
            extent = dim.extent(known_dims(frame.values))
        if extent is None:
            raise context.refuse(
                node,
                f"no tensor that is passed here has the dimension {dim.name}",
                help="use it in the shape of a parameter of this function",
            )
        return extent

    return run


def known_dims(values: Mapping[Any, Any]) -> dict[str, int]:
    """The dynamic dimensions among a frame's values, by name."""
    return {one.name: value for one, value in values.items() if type(one) is Dynamic}


def data_type(context: Context, node: ast.expr) -> DataType:
    """The element type that `node` names."""
    value = try_evaluate(context, node)
    if isinstance(value, DataType):
        return value
    raise context.refuse(
        node,
        f"`{ast.unparse(node)}` is no element type",
        help="write one of pypto's types, such as pl.FP32",
    )
