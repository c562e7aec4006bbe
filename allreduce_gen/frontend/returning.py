"""Reading `return`: at the end, or, of a function without a result, early."""

from __future__ import annotations

import ast

from .context import Context, Run, Typed
from .loops import Returned
from .machine import Frame
from .program import Kind
from .types import NoneType, StaticType, TensorType, format_type


def read_return(context: Context, node: ast.Return) -> Run:
    """`return value`, where all returns of a function give one type."""
    nothing = Typed(NoneType(), lambda _: None)
    result = nothing if node.value is None else context.expression(node.value)
    _check_result(context, node, result.type)
    context.results.append(result)

    def run(frame: Frame) -> None:
        raise Returned(result.run(frame))

    return run


def require_return(context: Context) -> None:
    """Refuse a kernel that declares a result and does not return once, at its end."""
    function = context.function
    if function.kind is not Kind.INCORE or not function.declares_result:
        return
    if not any(isinstance(one, ast.Return) for one in function.body):
        raise context.refuse(
            function.body[-1],
            f"{function.name} declares a result, and no return stands outside of its "
            "loops and branches",
            help="end it with `return`, or leave the annotation of its result out",
        )
    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Return) and node is not statement:
                raise context.refuse(
                    node,
                    f"{function.name} declares a result, and returns early",
                    help="put the rest under the opposite condition, and return once, "
                    "at the end",
                )


def _check_result(context: Context, node: ast.Return, type_: StaticType) -> None:
    """Refuse a number here and a tensor there; two tensors are let through."""
    for known in context.results:
        both = isinstance(known.type, TensorType) and isinstance(type_, TensorType)
        if known.type != type_ and not both:
            raise context.refuse(
                node,
                f"this return gives {format_type(type_)}, and an earlier one "
                f"{format_type(known.type)}",
                help="return one type on all paths",
            )
