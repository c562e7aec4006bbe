"""Ranks, blocks, smaller and larger numbers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from allreduce_gen.frontend.affine import Scalar, compare
from allreduce_gen.frontend.calls import Call
from allreduce_gen.frontend.closures import data_type, try_evaluate
from allreduce_gen.frontend.context import Run, Typed, constant
from allreduce_gen.frontend.machine import Frame
from allreduce_gen.frontend.operators import check_condition, computed, promote
from allreduce_gen.frontend.types import (
    BOOL,
    INDEX,
    INT32,
    ContextType,
    NoneType,
    ScalarType,
)


def _comm_context(call: Call) -> Typed:
    """The window whose ranks it is about."""
    arguments = call.bind("dist_tensor")
    window = call.window(arguments["dist_tensor"], "dist_tensor")
    return Typed(ContextType(), window.run)


def _check_context(call: Call) -> Run:
    context = call.context.expression(call.bind("ctx")["ctx"])
    if not isinstance(context.type, ContextType):
        raise call.refuse(
            "wanted a communication context",
            help="pass `ctx = pld.get_comm_ctx(window)`",
        )
    return context.run


def _rank(call: Call) -> Typed:
    window = _check_context(call)

    def run(frame: Frame) -> int:
        return frame.machine.members(window(frame).buffer).index(frame.rank)

    return Typed(INT32, run)


def _nranks(call: Call) -> Typed:
    window = _check_context(call)
    return Typed(INT32, lambda frame: len(frame.machine.members(window(frame).buffer)))


def _block_index(call: Call) -> Typed:
    call.bind("")
    return Typed(INDEX, lambda frame: frame.agent.agent.block)


def _block_count(call: Call) -> Typed:
    call.bind("")
    return Typed(INDEX, lambda frame: frame.blocks)


def _extreme(op: str) -> Callable[[Call], Typed]:
    """`pl.min` and `pl.max` of two scalars."""

    def read(call: Call) -> Typed:
        arguments = call.bind("lhs rhs")
        left, right = (call.argument(arguments[name]) for name in ("lhs", "rhs"))
        type_ = promote(call.context, call.node, left, right)
        run_left, run_right = left.run, right.run

        def run(frame: Frame) -> Scalar:
            one: Scalar = run_left(frame)
            other: Scalar = run_right(frame)
            return one if compare(op, one, other) else other

        return computed(call.node, type_, run, left, right)

    return read


def _constant(call: Call) -> Typed:
    arguments = call.bind("value dtype")
    value = arguments["value"]
    operand = value.operand if isinstance(value, ast.UnaryOp) else value
    if not isinstance(operand, ast.Constant):
        raise call.refuse(
            f"`{ast.unparse(value)}` is no literal", help="write the number itself"
        )
    number = try_evaluate(call.context, value)
    type_ = ScalarType(data_type(call.context, arguments["dtype"]).name)
    if not isinstance(number, int) or type_ == BOOL:
        raise call.refuse(
            f"`{ast.unparse(value)}` is no integer", help="write an integer literal"
        )
    return constant(type_, number)


def _static_assert(call: Call) -> Typed:
    arguments = call.bind("condition msg?")
    node = arguments["condition"]
    if try_evaluate(call.context, node) is not True:
        raise call.refuse(
            f"`{ast.unparse(node)}` does not hold, or is no constant",
            help="assert what is known from module constants, and is true",
        )
    return Typed(NoneType(), lambda _: None)


def _static_print(call: Call) -> Typed:
    del call  # it says something while pypto compiles, and does nothing else
    return Typed(NoneType(), lambda _: None)


def _condition(call: Call) -> Typed:
    """`pl.cond(...)`: what a `pl.while_` goes on for."""
    node = call.bind("condition")["condition"]
    condition = call.context.expression(node)
    check_condition(call.context, node, condition)
    if not call.context.conditions:
        raise call.refuse("stands outside `pl.while_`", help="write `if` or `while`")
    call.context.conditions[-1] = condition
    return Typed(NoneType(), lambda _: None)


RANKS: Mapping[str, Callable[[Call], Typed]] = {
    "pld.get_comm_ctx": _comm_context,
    "pld.system.get_comm_ctx": _comm_context,
    "pld.rank": _rank,
    "pld.system.rank": _rank,
    "pld.nranks": _nranks,
    "pld.system.nranks": _nranks,
    "pl.tile.get_block_idx": _block_index,
    "pl.get_block_idx": _block_index,
    "pl.tile.get_block_num": _block_count,
    "pl.get_block_num": _block_count,
}
"""What kernels alone know."""

SCALARS: Mapping[str, Callable[[Call], Typed]] = {
    "pl.min": _extreme("<="),
    "pl.max": _extreme(">="),
    "pl.const": _constant,
    "pl.cond": _condition,
    "pl.static_assert": _static_assert,
    "pl.static_print": _static_print,
}
