"""Reading assignments: a name keeps its type in the whole function."""

from __future__ import annotations

import ast

from .annotations import evaluate_annotation
from .context import Context, Run, Typed
from .machine import Frame
from .types import (
    BufferType,
    NoneType,
    StaticType,
    TileType,
    TupleType,
    format_type,
)
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
    declare(context, node, name, typed.type)
    run = typed.run

    def bind(frame: Frame) -> None:
        frame.values[name] = run(frame)

    return bind


def declare(context: Context, node: ast.stmt, name: str, type_: StaticType) -> None:
    """`name` gets `type_` here, which must be the type that it has had."""
    known = context.scope.type_of(name)
    if isinstance(type_, NoneType):
        raise context.refuse(
            node,
            f"{name} is bound to a call that returns nothing",
            help="write the call as a statement of its own",
        )
    if known is not None and known != type_:
        raise context.refuse(
            node,
            f"{name} is rebound to another type: was {format_type(known)}, "
            f"got {format_type(type_)}",
            help="use another name: a name keeps one type in the whole function, and "
            "shape, valid_shape and memory space belong to a tile's type",
        )
    if _is_carried_cell(context, name, type_):
        raise context.refuse(
            node,
            f"{name} is a [1, 1] tile that a loop carries from round to round",
            help="carry a scalar, or a wider tile",
        )
    context.scope.bind(name, type_)
    context.scope.roots[name] = root_of(context, getattr(node, "value", None))


_IN_PLACE = {"store": 2, "write": 0, "allreduce": 0, "broadcast": 0}
"""Calls that return one of their arguments, and which."""


def root_of(context: Context, node: ast.AST | None) -> str | None:
    """The parameter or window whose memory `node` is, where the text shows it."""
    match node:
        case ast.Name(id=name):
            return context.scope.roots.get(name, name)
        case ast.Call(func=ast.Attribute(attr=called), args=args) if (
            called in _IN_PLACE and len(args) > _IN_PLACE[called]
        ):
            return root_of(context, args[_IN_PLACE[called]])
    return None


def _is_carried_cell(context: Context, name: str, type_: StaticType) -> bool:
    return (
        isinstance(type_, TileType)
        and type_.shape == (1, 1)
        and context.loop_depth > 0
        and context.scope.is_outer(name)
    )


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
