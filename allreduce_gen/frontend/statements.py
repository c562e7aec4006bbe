"""Reading statements."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from .bindings import read_annotated, read_assignment
from .branches import read_if, read_while, read_with
from .context import Context, Run
from .iteration import read_for
from .loops import ContinueRound, run_all
from .machine import Frame
from .refusals import REFUSED_STATEMENTS


def read_block(context: Context, body: Sequence[ast.stmt]) -> Run:
    """Statements one after another."""
    runs = [_read_statement(context, statement) for statement in body]
    return run_all(run for run in runs if run is not None)


def _read_statement(context: Context, node: ast.stmt) -> Run | None:
    """A statement, or None where it does nothing."""
    match node:
        case ast.Assign():
            return read_assignment(context, node)
        case ast.AnnAssign():
            return read_annotated(context, node)
        case ast.For():
            return read_for(context, node)
        case ast.While():
            return read_while(context, node)
        case ast.If():
            return read_if(context, node)
        case ast.With():
            return read_with(context, node)
        case ast.Expr():
            return _read_effect(context, node)
        case ast.Continue():
            return _skip_rest
        case ast.Pass():
            return None
        case ast.Return():
            raise context.refuse(
                node,
                "a return before the end of the function",
                help="return once, as the last statement",
            )
    raise refused_statement(context, node)


def refused_statement(context: Context, node: ast.stmt) -> Exception:
    """The AR703 for a statement that kernels do not have."""
    refused = REFUSED_STATEMENTS.get(type(node))
    what = refused.what if refused else type(node).__name__
    text = ast.unparse(node).splitlines()[0]
    return context.refuse(
        node,
        f"`{text}`: {what} has no meaning in a kernel",
        help=refused.instead if refused else "write it with assignments and loops",
    )


def _read_effect(context: Context, node: ast.Expr) -> Run | None:
    """A call made for its effect, or text that says something to the reader."""
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return None
    return context.expression(node.value).run


def _skip_rest(_: Frame) -> None:
    """`continue`."""
    raise ContinueRound
