"""Reading assignments: to one name, or to one for each value of several."""

from __future__ import annotations

import ast

from .annotations import evaluate_annotation
from .context import Context, Run, Typed
from .declaring import declare
from .machine import Frame
from .program import Kind
from .types import BufferType, TensorType, TupleType, format_type
from .windows import allocation


def read_assignment(context: Context, node: ast.Assign) -> Run:
    """`name = value`, or names on the left for a value of several."""
    if len(node.targets) != 1:
        raise context.refuse(
            node,
            f"`{ast.unparse(node)}` binds several names at once",
            help="write one assignment for each name",
        )
    return _bind_target(context, node.targets[0], node.value, node)


def read_annotated(context: Context, node: ast.AnnAssign) -> Run:
    """`name: type = value`; the value's own type counts."""
    if node.value is None:
        raise context.refuse(
            node,
            f"`{ast.unparse(node)}` declares a name without a value",
            help="bind the name where it gets its value",
        )
    evaluate_annotation(
        node.annotation, context.function.file, context.function.closure
    )
    return _bind_target(context, node.target, node.value, node)


def _bind_target(
    context: Context, target: ast.expr, value: ast.expr, node: ast.stmt
) -> Run:
    typed = context.expression(value)
    _refuse_tuple(context, node, target, value, typed)
    match target:
        case ast.Name(id=name):
            return bind_name(context, node, name, typed)
        case ast.Tuple(elts=parts) if isinstance(value, ast.Call | ast.Tuple):
            return _bind_parts(context, node, parts, typed)
    raise context.refuse(
        node,
        f"`{ast.unparse(node)}` assigns to something else than one name",
        help="write to memory with `pl.store(tile, offsets, tensor)`; several names "
        "stand on the left of calls only",
    )


def _refuse_tuple(
    context: Context, node: ast.stmt, target: ast.expr, value: ast.expr, typed: Typed
) -> None:
    """Refuse a list or tuple that no call gives: pypto makes no code of it."""
    is_given = isinstance(value, ast.Call) or _is_taken_apart(context, target, typed)
    if isinstance(typed.type, TupleType) and not is_given:
        raise context.refuse(
            node,
            f"`{ast.unparse(node)}` assigns a list or tuple, of which pypto's code "
            "generator makes no values",
            help="write one assignment for each value",
        )


def _is_taken_apart(context: Context, target: ast.expr, typed: Typed) -> bool:
    """Whether an Orchestration function gives several tensors names."""
    return (
        context.kind is Kind.ORCHESTRATION
        and isinstance(target, ast.Tuple)
        and isinstance(typed.type, TupleType)
        and all(
            isinstance(one, TensorType) and not one.is_window
            for one in typed.type.items
        )
    )


def bind_name(context: Context, node: ast.stmt, name: str, typed: Typed) -> Run:
    """Bind `name` to the value of `typed`."""
    if isinstance(typed.constant, bool):
        raise context.refuse(
            node,
            f"{name} is bound to {typed.constant}, and kernels have no such variables",
            help="write the comparison where it is needed",
        )
    if isinstance(typed.type, BufferType):
        typed = allocation(context, node, name, typed)
    declare(context, node, name, typed.type, is_number=typed.is_number)
    run = typed.run

    def bind(frame: Frame) -> None:
        frame.values[name] = run(frame)

    return bind


def _reads(node: ast.stmt, names: list[str]) -> bool:
    """Whether `node` reads one of `names`."""
    return any(
        isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and one.id in names
        for one in ast.walk(node)
    )


def _bind_parts(
    context: Context, node: ast.stmt, targets: list[ast.expr], typed: Typed
) -> Run:
    names = [one.id for one in targets if isinstance(one, ast.Name)]
    if isinstance(getattr(node, "value", None), ast.Tuple) and _reads(node, names):
        raise context.refuse(
            node,
            f"`{ast.unparse(node)}` reads a name that it binds",
            help="write one assignment for each name",
        )
    types = typed.type.items if isinstance(typed.type, TupleType) else ()
    if len(names) != len(targets) or len(names) != len(types):
        raise context.refuse(
            node,
            f"`{ast.unparse(node)}` binds {len(targets)} names to "
            f"{format_type(typed.type)}",
            help="write one simple name for each value",
        )
    for name, type_ in zip(names, types, strict=True):
        declare(context, node, name, type_)
    run = typed.run

    def bind(frame: Frame) -> None:
        frame.values.update(zip(names, run(frame), strict=True))

    return bind
