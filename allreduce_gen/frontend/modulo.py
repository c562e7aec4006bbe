"""`//` and `%`: truncating, and miscompiled where a multiple of the divisor is lost.

pypto simplifies under floor division and then emits instructions that truncate toward
zero. Multiples of a constant divisor disappear from the numerator as it is written
(names are not looked through); where what is left is negative, the device computes
something else. A divisor that is only known at run time is left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from allreduce_gen.diagnostics import codes
from allreduce_gen.ir.expr import truncating_mod

from .affine import concrete
from .context import Context, Run, Typed
from .machine import Frame

Divide = Callable[[int, int], int]


def read_division(
    context: Context, node: ast.BinOp, left: Typed, right: Typed, divide: Divide
) -> Run:
    """`left op right`, watched where the divisor is a constant."""
    divisor = right.constant
    text = ast.unparse(node)
    if isinstance(divisor, int) and divisor > 0:
        lost = _lost_part(context, node.left, divisor)
        return _watched(context, node, left.run, divisor, lost, divide)

    def run(frame: Frame) -> int:
        numerator, by = concrete(left.run(frame)), concrete(right.run(frame))
        if by == 0:
            raise context.refuse(
                node,
                f"`{text}` divides by zero on rank {frame.rank}",
                help="guard it, or make the divisor a positive constant",
            )
        return divide(numerator, by)

    return run


def _watched(
    context: Context,
    node: ast.BinOp,
    left: Run,
    divisor: int,
    lost: Run,
    divide: Divide,
) -> Run:
    file, text = context.function.file, ast.unparse(node)

    def run(frame: Frame) -> int:
        numerator = concrete(left(frame))
        kept = numerator - concrete(lost(frame))
        if kept < 0 or numerator < 0:
            how = "" if kept == numerator else f" once multiples of {divisor} are gone"
            frame.machine.find(
                codes.AR706,
                f"in `{text}` the numerator is {min(kept, numerator)} on the "
                f"device{how}, and the device divides toward zero",
                help=f"count up: add `({divisor} - 1) * step` in place of subtracting "
                "`step`, or divide by a run-time `pld.nranks(ctx)`",
                file=file,
                line=node.lineno,
                rank=frame.rank,
            )
        return divide(numerator, divisor)

    return run


def _lost_part(context: Context, numerator: ast.expr, divisor: int) -> Run:
    """What the simplifier drops from `numerator`: whole multiples of `divisor`.

    They are those in its constant, and a product that is one side of its outer sum.
    """
    total = _constant_part(context, numerator)
    fixed = total - truncating_mod(total, divisor)
    products: list[Run] = []
    if isinstance(numerator, ast.BinOp) and isinstance(numerator.op, ast.Add):
        products = [
            context.expression(side).run
            for side in (numerator.left, numerator.right)
            if (_factor(context, side) or (1, side))[0] % divisor == 0
        ]
    if not products:
        return lambda _: fixed
    return lambda frame: fixed + sum(concrete(run(frame)) for run in products)


def _constant_part(context: Context, node: ast.expr) -> int:
    """The constant that the simplifier gathers from a sum as it is written."""
    known = context.expression(node).constant
    if isinstance(known, int):
        return known
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _constant_part(context, left) + _constant_part(context, right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _constant_part(context, left) - _constant_part(context, right)
    factor = _factor(context, node)
    if factor is None or _starts_with_constant(context, factor[1]):
        return 0
    return factor[0] * _constant_part(context, factor[1])


def _factor(context: Context, node: ast.expr) -> tuple[int, ast.expr] | None:
    """The constant factor of a product, and what it multiplies."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for side, other in ((node.left, node.right), (node.right, node.left)):
            known = context.expression(side).constant
            if isinstance(known, int):
                return known, other
    return None


def _starts_with_constant(context: Context, node: ast.expr) -> bool:
    """`c - x`: no factor is carried into it."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Sub)
        and context.expression(node.left).constant is not None
    )
