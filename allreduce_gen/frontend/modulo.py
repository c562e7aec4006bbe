"""`//` and `%` as the device computes them: truncating, of what pypto made of them.

A divisor that is only known at run time, and so the sign of the result, is taken as the
device has it. Where pypto knows a positive divisor, it first simplifies under
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
from .simplifying import make
from .terms import Term, evaluate, format_term

Divide = Callable[[int, int], int]


def read_division(
    context: Context,
    node: ast.BinOp,
    operands: tuple[Typed, Typed],
    term: Term,
    floor: Divide,
    truncate: Divide,
) -> Run:
    """The value of `left op right`, which is written as `term`."""
    left, right = operands
    made, text = make(term), ast.unparse(node)

    def run(frame: Frame) -> int:
        numerator, by = concrete(left.run(frame)), concrete(right.run(frame))
        if by == 0:
            raise context.refuse(
                node,
                f"`{text}` divides by zero on rank {frame.rank}",
                help="guard it, or make the divisor a positive constant",
            )
        if not right.is_number or by < 0:
            return truncate(numerator, by)
        wanted = floor(numerator, by)
        _compare(context, node, frame, made(frame), wanted)
        return wanted

    return run


def _compare(
    context: Context, node: ast.BinOp, frame: Frame, made: Term, wanted: int
) -> None:
    """Find it where the device does not compute what is wanted."""
    seen = evaluate(made, frame)
    if seen != wanted:
        frame.machine.find(
            codes.AR706,
            f"`{ast.unparse(node)}` is {seen} on the device, wanted {wanted}: pypto "
            f"makes `{format_term(made)}` of it, and the device divides toward zero",
            help=_help(node),
            file=context.function.file,
            line=node.lineno,
            rank=frame.rank,
        )


def _help(node: ast.BinOp) -> str:
    divisor = ast.unparse(node.right)
    if isinstance(node.op, ast.FloorDiv):
        return f"take multiples of {divisor} out, and divide what is never negative"
    return (
        f"count up: add `({divisor} - 1) * step` in place of subtracting `step`, or "
        "divide by a run-time `pld.nranks(ctx)`"
    )
