"""Reading statements."""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence

from .bindings import read_annotated, read_assignment
from .branches import read_if, read_while, read_with
from .carrying import is_yield, read_yield
from .context import Context, Run, Typed
from .iteration import read_for
from .loaded import FromMemoryError
from .loops import ContinueRound, run_all
from .machine import Frame
from .program import Program
from .refusals import REFUSED_STATEMENTS
from .returning import read_return
from .types import TileType


def read_block(context: Context, body: Sequence[ast.stmt]) -> Run:
    """Statements one after another."""
    runs = []
    for statement in body:
        run = _read_statement(context, statement)
        if run is not None:
            reads = reads_memory(context.program)
            runs.append(_guarded(context, statement, run) if reads else run)
    return run_all(runs)


@functools.lru_cache(maxsize=64)
def reads_memory(program: Program) -> bool:
    """Whether some function of `program` reads scalars from memory."""
    return any(
        isinstance(node, ast.Attribute) and node.attr == "read"
        for function in program.functions
        for statement in function.body
        for node in ast.walk(statement)
    )


def _guarded(context: Context, node: ast.stmt, run: Run) -> Run:
    """`run`, refused where it needs a number that only memory knows."""
    text = ast.unparse(node).splitlines()[0]

    def guarded(frame: Frame) -> None:
        try:
            run(frame)
        except FromMemoryError:
            raise context.refuse(
                node,
                f"`{text}` depends on a scalar that is read from memory",
                help="such scalars may be cast, added, multiplied and written: pass "
                "what decides offsets, bounds, peers and conditions as an argument",
            ) from None

    return guarded


def _read_statement(context: Context, node: ast.stmt) -> Run | None:
    """A statement, or None where it does nothing."""
    match node:
        case ast.Assign(targets=[target]) if is_yield(context, node.value):
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            return read_yield(context, node, parts, node.value)
        case ast.Expr() if is_yield(context, node.value):
            return read_yield(context, node, (), node.value)
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
            return read_return(context, node)
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
    typed = context.expression(node.value)
    if isinstance(node.value, ast.Call) and _is_unused_load(typed):
        raise context.refuse(
            node,
            f"`{ast.unparse(node)}` loads a tile that nobody uses",
            help="bind it to a name, or remove it",
        )
    return typed.run


def _is_unused_load(typed: Typed) -> bool:
    return isinstance(typed.type, TileType) and typed.is_load


def _skip_rest(_: Frame) -> None:
    """`continue`."""
    raise ContinueRound
