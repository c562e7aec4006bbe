"""Reading arithmetic and comparisons of scalars, as the device computes them."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from allreduce_gen.ir.expr import truncating_div, truncating_mod

from .affine import compare, concrete
from .closures import can_fold, outer_value, try_evaluate
from .context import Context, Run, Typed, constant
from .loaded import FromMemoryError, combine
from .machine import Frame
from .modulo import Divide, read_division
from .refusals import REFUSED_OPERATORS
from .simplifying import opaque
from .terms import Difference, Leaf, Product, Quotient, Remainder, Sum, Term
from .types import BOOL, INDEX, ScalarType, StaticType, TileType, format_type

_EXACT: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
}
_SHIFT: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_DIVIDE: dict[type[ast.operator], tuple[Divide, Divide]] = {
    ast.FloorDiv: (operator.floordiv, truncating_div),
    ast.Mod: (operator.mod, truncating_mod),
}
_TERMS: dict[type[ast.operator], Callable[[Term, Term], Term]] = {
    ast.Add: Sum,
    ast.Sub: Difference,
    ast.Mult: Product,
    ast.FloorDiv: Quotient,
    ast.Mod: Remainder,
}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


def read_binary(context: Context, node: ast.BinOp) -> Typed:
    """`left op right`. Arithmetic of outer values alone is Python's own."""
    if can_fold(context, node):
        value = try_evaluate(context, node)
        if value is not None:
            return outer_value(context, node, value)
    op = type(node.op)
    if op in REFUSED_OPERATORS:
        refused = REFUSED_OPERATORS[op]
        raise context.refuse(
            node,
            f"`{ast.unparse(node)}`: kernels have no {refused.what}",
            help=refused.instead,
        )
    left, right = context.expression(node.left), context.expression(node.right)
    type_ = promote(context, node, left, right)
    if op in _SHIFT:
        shift = _shift(context, node, _SHIFT[op], left.run, right.run)
        return computed(node, type_, shift, left, right)
    term = _TERMS[op](_term(node.left, left, type_), _term(node.right, right, type_))
    if op in _EXACT:
        run = _apply(*_EXACT[op], left.run, right.run)
    else:
        run = read_division(context, node, (left, right), term, *_DIVIDE[op])
    return Typed(type_, run, term=term)


def computed(node: ast.expr, type_: ScalarType, run: Run, *operands: Typed) -> Typed:
    """What `node` computes of `operands`: of numbers a number."""
    if not all(one.is_number for one in operands):
        return Typed(type_, run)
    return Typed(type_, run, term=Leaf(ast.unparse(node), run, is_number=True))


def _term(node: ast.expr, typed: Typed, wanted: ScalarType) -> Term:
    """An operand, as pypto's simplifier sees it: it does not look through a cast."""
    if isinstance(typed.constant, int):
        return typed.constant
    term = Leaf(ast.unparse(node), typed.run) if typed.term is None else typed.term
    return term if typed.type == wanted else opaque(term)


def promote(context: Context, node: ast.AST, left: Typed, right: Typed) -> ScalarType:
    """The type of arithmetic between two scalars: the wider one's."""
    for side in (left, right):
        if isinstance(side.type, TileType):
            raise context.refuse(
                node,
                f"`{ast.unparse(node)}`: tiles have no operators",
                help="write `pl.add`, `pl.sub`, `pl.mul`, `pl.div`, `pl.maximum` or "
                "`pl.minimum`",
            )
        if not is_integer(side.type):
            raise context.refuse(
                node,
                f"`{ast.unparse(node)}`: no arithmetic with {format_type(side.type)}",
                help="compute with integers; floating-point constants belong outside "
                "the kernel",
            )
    assert isinstance(left.type, ScalarType)
    assert isinstance(right.type, ScalarType)
    return right.type if right.type.bits > left.type.bits else left.type


def is_integer(type_: StaticType) -> bool:
    """Whether `type_` is an integer scalar."""
    return isinstance(type_, ScalarType) and type_.is_integer


def _apply(symbol: str, op: Callable[[Any, Any], Any], left: Run, right: Run) -> Run:
    def run(frame: Frame) -> Any:
        one, other = left(frame), right(frame)
        try:
            return op(one, other)
        except FromMemoryError:
            return combine(frame, symbol, one, other)

    return run


def _shift(
    context: Context,
    node: ast.BinOp,
    op: Callable[[int, int], int],
    left: Run,
    right: Run,
) -> Run:
    def run(frame: Frame) -> int:
        by = concrete(right(frame))
        if not 0 <= by < 64:
            raise context.refuse(
                node,
                f"`{ast.unparse(node)}` shifts by {by}",
                help="shift by 0 to 63 bits",
            )
        return op(concrete(left(frame)), by)

    return run


def read_unary(context: Context, node: ast.UnaryOp) -> Typed:
    """`-x`, `not x`, `~x`."""
    if isinstance(node.op, ast.USub) and can_fold(context, node):
        value = try_evaluate(context, node)
        if value is not None:
            return outer_value(context, node, value)
    operand = context.expression(node.operand)
    match node.op:
        case ast.Not():
            check_condition(context, node.operand, operand)
            run = operand.run
            return Typed(BOOL, lambda frame: not run(frame))
        case ast.USub() | ast.Invert():
            promote(context, node, operand, constant(INDEX, 0))
            assert isinstance(operand.type, ScalarType)
            minus = 0 if isinstance(node.op, ast.USub) else 1
            run = operand.run
            return computed(
                node, operand.type, lambda frame: -run(frame) - minus, operand
            )
    raise context.refuse(
        node,
        f"`{ast.unparse(node)}`: kernels have no unary plus",
        help="leave the plus sign out",
    )


def read_compare(context: Context, node: ast.Compare) -> Typed:
    """One comparison of two integers."""
    if len(node.ops) != 1:
        raise context.refuse(
            node,
            f"`{ast.unparse(node)}` is a chained comparison",
            help="join single comparisons with `and`",
        )
    op = _COMPARE.get(type(node.ops[0]))
    if op is None:
        raise context.refuse(
            node,
            f"`{ast.unparse(node)}`: kernels have no such comparison",
            help="use ==, !=, <, <=, > or >=",
        )
    left = context.expression(node.left)
    right = context.expression(node.comparators[0])
    promote(context, node, left, right)
    run_left, run_right = left.run, right.run
    return Typed(BOOL, lambda frame: compare(op, run_left(frame), run_right(frame)))


def read_boolean(context: Context, node: ast.BoolOp) -> Typed:
    """`and`, `or` of conditions."""
    parts = [context.expression(value) for value in node.values]
    for value, part in zip(node.values, parts, strict=True):
        check_condition(context, value, part)
    runs = [part.run for part in parts]
    if isinstance(node.op, ast.And):
        return Typed(BOOL, lambda frame: all(run(frame) for run in runs))
    return Typed(BOOL, lambda frame: any(run(frame) for run in runs))


def check_condition(context: Context, node: ast.expr, typed: Typed) -> None:
    """Refuse a condition that is no Bool scalar, such as a bare `if x:`."""
    if typed.type != BOOL:
        raise context.refuse(
            node,
            f"the condition `{ast.unparse(node)}` is {format_type(typed.type)}, "
            "wanted a comparison",
            help=f"write `{ast.unparse(node)} != 0`",
        )
