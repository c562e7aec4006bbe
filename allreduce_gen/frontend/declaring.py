"""Declaring names: one keeps its type in the whole function."""

from __future__ import annotations

import ast

from .context import Context
from .types import NoneType, StaticType, TileType, format_type


def declare(
    context: Context,
    node: ast.stmt,
    name: str,
    type_: StaticType,
    *,
    is_number: bool = False,
) -> None:
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
    context.scope.bind(name, type_, is_number=is_number)
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
