"""Reading expressions."""

from __future__ import annotations

import ast
import dataclasses
from typing import Any

from allreduce_gen.ir.memory import View

from .affine import concrete
from .closures import outer_name
from .context import Context, Typed, constant
from .lists import read_item
from .machine import Frame
from .operators import (
    is_integer,
    read_binary,
    read_boolean,
    read_compare,
    read_unary,
)
from .program import Kind
from .refusals import REFUSED_EXPRESSIONS
from .terms import Leaf
from .types import BOOL, FLOAT, INDEX, TensorType, TupleType, format_type


def read_expression(context: Context, node: ast.expr) -> Typed:
    """Any expression but a call. Raises CompileError AR703 for what has no meaning."""
    match node:
        case ast.Name():
            return _read_name(context, node)
        case ast.Constant():
            return _read_constant(context, node)
        case ast.BinOp():
            return read_binary(context, node)
        case ast.UnaryOp():
            return read_unary(context, node)
        case ast.Compare():
            return read_compare(context, node)
        case ast.BoolOp():
            return read_boolean(context, node)
        case ast.List() | ast.Tuple():
            return _read_sequence(context, node)
        case ast.Subscript():
            return _read_subscript(context, node)
        case ast.Attribute():
            raise _attribute_refused(context, node)
    refused = REFUSED_EXPRESSIONS.get(type(node))
    what = refused.what if refused else type(node).__name__
    raise context.refuse(
        node,
        f"`{ast.unparse(node)}`: {what} has no meaning in a kernel",
        help=refused.instead if refused else "write it with names and operators",
    )


def _read_name(context: Context, node: ast.Name) -> Typed:
    name = node.id
    type_ = context.scope.type_of(name)
    if type_ is None:
        return outer_name(context, node)
    if not context.scope.is_visible(name):
        raise context.refuse(
            node,
            f"{name} is bound inside a loop or a branch and used outside of it",
            help=f"bind {name} before that loop or branch",
        )
    if name in context.scope.given_away:
        line = context.scope.given_away[name]
        raise context.refuse(
            node,
            f"{name} was passed as Out or InOut in line {line} and is read again",
            help=f"use what the call returns (`{name} = ...`), or make the window "
            "inside the loop",
        )

    def run(frame: Frame) -> Any:
        return frame.values[name]

    leaf = Leaf(
        name,
        run,
        is_number=name in context.scope.numbers,
        span=context.scope.spans.get(name),
    )
    return Typed(type_, run, term=leaf)


def _read_constant(context: Context, node: ast.Constant) -> Typed:
    match node.value:
        case bool() as value:
            return constant(BOOL, value)
        case int() as value:
            return constant(INDEX, value)
        case float() as value:
            return constant(FLOAT, value)
    raise context.refuse(
        node,
        f"`{ast.unparse(node)}`: kernels have no {type(node.value).__name__} values",
        help="use int, float or bool",
    )


def _read_sequence(context: Context, node: ast.List | ast.Tuple) -> Typed:
    items = tuple(context.expression(item) for item in node.elts)
    return Typed(
        TupleType(tuple(item.type for item in items)),
        lambda frame: tuple(item.run(frame) for item in items),
        items=items,
    )


def _attribute_refused(context: Context, node: ast.Attribute) -> Exception:
    text = ast.unparse(node)
    of_self = isinstance(node.value, ast.Name) and node.value.id == "self"
    return context.refuse(
        node,
        f"`{text}` stands alone: attributes are not values in a kernel",
        help=f"make {node.attr} a module constant"
        if of_self
        else f"give `{text}` a name outside the kernel",
    )


def _read_subscript(context: Context, node: ast.Subscript) -> Typed:
    source = context.expression(node.value)
    if isinstance(source.type, TensorType):
        return _read_slice(context, node, source)
    if not isinstance(source.type, TupleType):
        raise context.refuse(
            node,
            f"`{ast.unparse(node)}` indexes {format_type(source.type)}",
            help="load a part of a tensor with `pl.load(tensor, offsets, shape)`",
        )
    return read_item(context, node, source)


def _read_slice(context: Context, node: ast.Subscript, source: Typed) -> Typed:
    """`x[r]`, `x[0, r]`: one entry of the leading dimensions of a host's tensor."""
    listed = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    indices = [context.expression(one) for one in listed]
    type_ = source.type
    assert isinstance(type_, TensorType)
    is_fit = len(type_.shape) > len(indices)
    is_fit = is_fit and all(is_integer(index.type) for index in indices)
    if context.kind is not Kind.HOST or not is_fit:
        raise context.refuse(
            node,
            f"`{ast.unparse(node)}`: only the HOST orchestrator indexes tensors, by "
            "integers and where dimensions are left over",
            help="load a part of a tensor with `pl.load(tensor, offsets, shape)`",
        )

    def run(frame: Frame) -> View:
        view: View = source.run(frame)
        for index in indices:
            view = _entry(context, node, view, concrete(index.run(frame)))
        return view

    rest = type_.shape[len(indices) :]
    return Typed(TensorType(rest, type_.dtype, type_.is_window), run)


def _entry(context: Context, node: ast.Subscript, view: View, position: int) -> View:
    """One entry of the leading dimension of `view`."""
    if not 0 <= position < view.shape[0]:
        raise context.refuse(
            node,
            f"`{ast.unparse(node)}` takes entry {position} of {view.shape[0]}",
            help="keep the index below the number of ranks",
        )
    inner = dataclasses.replace(view, shape=view.shape[1:])
    return dataclasses.replace(inner, start=view.start + position * inner.nbytes)
