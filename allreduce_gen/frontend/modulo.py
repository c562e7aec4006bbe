"""`//` and `%` as the device computes them: truncating, of what pypto made of them.

A divisor that is only known at run time, and so the sign of the result, is taken as the
device has it. Where the divisor is a positive constant, pypto first simplifies under
division that rounds down (see rewriting.py). What it should be is then clear, and where
the device computes something else, that is found (AR706).
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from allreduce_gen.diagnostics import codes

from .affine import concrete
from .context import Context, Run, Typed
from .machine import Frame
from .terms import Term, evaluate, format_term

Divide = Callable[[int, int], int]


def read_division(
    context: Context,
    node: ast.BinOp,
    operands: tuple[Typed, Typed],
    made: Term,
    floor: Divide,
    truncate: Divide,
) -> Run:
    """The value of `left op right`, of which pypto makes `made`."""
    left, right = operands
    if isinstance(right.constant, int) and right.constant > 0:
        return _watched(context, node, left.run, right.constant, made, floor)
    text = ast.unparse(node)

    def run(frame: Frame) -> int:
        numerator, by = concrete(left.run(frame)), concrete(right.run(frame))
        if by == 0:
            raise context.refuse(
                node,
                f"`{text}` divides by zero on rank {frame.rank}",
                help="guard it, or make the divisor a positive constant",
            )
        return truncate(numerator, by)

    return run


def _watched(
    context: Context,
    node: ast.BinOp,
    left: Run,
    divisor: int,
    made: Term,
    floor: Divide,
) -> Run:
    file, text = context.function.file, ast.unparse(node)

    def run(frame: Frame) -> int:
        numerator = concrete(left(frame))
        wanted, seen = floor(numerator, divisor), evaluate(made, frame)
        if seen != wanted:
            frame.machine.find(
                codes.AR706,
                f"`{text}` is {seen} on the device, wanted {wanted}: pypto makes "
                f"`{format_term(made)}` of it, and the device divides toward zero",
                help=_help(node),
                file=file,
                line=node.lineno,
                rank=frame.rank,
            )
        return wanted

    return run


def _help(node: ast.BinOp) -> str:
    divisor = ast.unparse(node.right)
    if isinstance(node.op, ast.FloorDiv):
        return f"take multiples of {divisor} out, and divide what is never negative"
    return (
        f"count up: add `({divisor} - 1) * step` in place of subtracting `step`, or "
        "divide by a run-time `pld.nranks(ctx)`"
    )
