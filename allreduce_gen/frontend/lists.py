"""Lists and tuples: as an argument, and an item of one by its index.

Where a program takes an item of a list, pypto's code generator emits the list's last
number (AR707). A list that is written out as a keyword argument is another matter: of
outer values alone, it is Python's own.
"""

from __future__ import annotations

import ast

from allreduce_gen.diagnostics import codes

from .affine import Scalar
from .closures import outer_value, try_evaluate
from .context import Context, Run, Typed
from .machine import Frame
from .types import TupleType


def read_list(context: Context, call: ast.Call, node: ast.expr) -> Typed:
    """The argument `node` of `call`, which should be a list."""
    if isinstance(node, ast.List) and any(one.value is node for one in call.keywords):
        value = try_evaluate(context, node)
        if value is not None and not _holds_name(context, node.elts):
            _refuse_hidden(context, node)
            return outer_value(context, node, value)
    typed = context.expression(node)
    if isinstance(node, ast.Subscript) and isinstance(typed.type, TupleType):
        raise context.refuse(
            node,
            f"`{ast.unparse(node)}` is a list inside a list, which pypto's parser "
            "does not take whole",
            help="write the list itself, or give it a name outside the kernel",
        )
    return typed


def _holds_name(context: Context, parts: list[ast.expr]) -> bool:
    """Whether one of `parts` is a name of the function."""
    return any(isinstance(one, ast.Name) and _is_own(context, one) for one in parts)


def _is_own(context: Context, node: ast.Name) -> bool:
    return context.scope.type_of(node.id) is not None


def _refuse_hidden(context: Context, node: ast.List) -> None:
    """Refuse a name of the function in what pypto computes of outer names."""
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and _is_own(context, one):
            raise context.refuse(
                node,
                f"`{ast.unparse(node)}`: {one.id} is also a name outside the kernel, "
                "and pypto's parser takes that one here",
                help=f"give {one.id} another name in the kernel",
            )


def read_item(context: Context, node: ast.Subscript, source: Typed) -> Typed:
    """`L[k]`: an item of a list or tuple, by a literal."""
    assert isinstance(source.type, TupleType)
    types = source.type.items
    index = node.slice.value if isinstance(node.slice, ast.Constant) else None
    if not isinstance(index, int):
        raise context.refuse(
            node,
            f"`{ast.unparse(node)}`: lists are indexed by an integer literal only",
            help="give each value a name of its own, or compute the value",
        )
    if index >= len(types):
        raise context.refuse(
            node,
            f"`{ast.unparse(node)}` takes item {index} of {len(types)}",
            help="keep the index inside the list",
        )
    if not source.items:  # what a call gave
        return Typed(types[index], lambda frame: source.run(frame)[index])
    item = source.items[index]
    if isinstance(item.type, TupleType):
        return item
    return Typed(item.type, _watched(context, node, item))


def _watched(context: Context, node: ast.Subscript, item: Typed) -> Run:
    """The item, reported where it differs from the last number (see AR707)."""
    last = _last_number(context, node)
    file, text = context.function.file, ast.unparse(node)

    def run(frame: Frame) -> Scalar:
        found: Scalar = item.run(frame)
        taken = last.run(frame)
        if found != taken:
            frame.machine.find(
                codes.AR707,
                f"`{text}` is {found} here, but pypto's compiler takes the list's "
                f"last item, {taken}",
                help="write the number, or give it a name of its own",
                file=file,
                line=node.lineno,
                rank=frame.rank,
            )
        return found

    return run


def _last_number(context: Context, node: ast.expr) -> Typed:
    """The last number of the list that `node` indexes, inner lists included."""
    while isinstance(node, ast.Subscript):
        node = node.value
    found = context.expression(node)
    while found.items:
        found = found.items[-1]
    return found
