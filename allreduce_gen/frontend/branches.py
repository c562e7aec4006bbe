"""Reading `if`, `while` and `with`."""

from __future__ import annotations

import ast

from .affine import concrete
from .closures import try_evaluate
from .context import Context, Run
from .loops import ContinueRound
from .machine import Frame
from .operators import check_condition, is_integer
from .pipelining import as_block
from .program import Kind
from .scope import exposed_names
from .standins import Operation
from .types import TensorType


def read_if(context: Context, node: ast.If) -> Run:
    """`if` with its `else`; names that both bind live on after it."""
    condition = context.expression(node.test)
    check_condition(context, node.test, condition)
    given_away, roots = dict(context.scope.given_away), dict(context.scope.roots)
    context.carried.append(None)
    with context.scope.block() as then_path:
        then = as_block(context.block(node.body))
    after_roots, context.scope.roots = context.scope.roots, roots
    homed = context.scope.homed_in(then_path)
    after_then = context.scope.given_away
    context.scope.given_away = given_away
    with context.scope.block() as else_path:
        other = as_block(context.block(node.orelse))
    context.carried.pop()
    _refuse_two_memories(context, node, after_roots)
    context.scope.given_away |= after_then
    rebound = context.scope.homed_in(else_path)
    context.scope.adopt(homed & rebound)
    test = condition.run
    return lambda frame: then(frame) if test(frame) else other(frame)


def _refuse_two_memories(
    context: Context, node: ast.If, then: dict[str, str | None]
) -> None:
    """Refuse a name that is one tensor on one path and another on the other."""
    other = context.scope.roots
    for name in sorted(then.keys() & other.keys()):
        is_tensor = isinstance(context.scope.type_of(name), TensorType)
        if is_tensor and then[name] != other[name]:
            raise context.refuse(
                node,
                f"{name} is memory of {then[name]} on one path and of {other[name]} on "
                "the other",
                help="write the loads and stores in both branches",
            )


def read_while(context: Context, node: ast.While) -> Run:
    """`while`: its rounds are run one by one."""
    if node.orelse:
        raise context.refuse(
            node, "a loop with else", help="put the else part behind the loop"
        )
    condition = context.expression(node.test)
    check_condition(context, node.test, condition)
    context.loop_depth += 1
    with context.scope.block(node.body):
        body = as_block(context.block(node.body))
    context.loop_depth -= 1
    refuse_reread(context, node, exposed_names(node.body))
    test, file = condition.run, context.function.file

    def run(frame: Frame) -> None:
        while test(frame):
            frame.count_rounds(1, file, node.lineno)
            try:
                body(frame)
            except ContinueRound:
                continue

    return run


def refuse_reread(context: Context, node: ast.stmt, exposed: set[str]) -> None:
    """Refuse a name that a round gives away and the next round reads."""
    given = context.scope.given_away
    for name in sorted(exposed & given.keys()):
        if given[name] >= node.lineno:
            raise context.refuse(
                node,
                f"{name} is passed as Out or InOut in line {given[name]} and the next "
                "round reads it again",
                help=f"make {name} inside the loop, or bind what the call returns",
            )


def read_with(context: Context, node: ast.With) -> Run:
    """`with pl.spmd(n):` around a kernel call."""
    call = node.items[0].context_expr
    name = isinstance(call, ast.Call) and try_evaluate(context, call.func)
    if (
        len(node.items) != 1
        or not isinstance(call, ast.Call)
        or not isinstance(name, Operation)
        or name.name != "pl.spmd"
        or context.kind is not Kind.ORCHESTRATION
    ):
        raise context.refuse(
            node,
            f"`with {ast.unparse(node.items[0])}` is not interpreted",
            help="only `with pl.spmd(n):` in an Orchestration function is",
        )
    known = {"core_num", "sync_start", "name_hint"}
    wrong = [one.arg for one in call.keywords if one.arg not in known]
    given = [one.value for one in call.keywords if one.arg == "core_num"] + call.args
    if len(given) != 1 or wrong or node.items[0].optional_vars is not None:
        raise context.refuse(
            node, "pl.spmd takes one number of blocks", help="write `pl.spmd(4)`"
        )
    blocks = context.expression(given[0])
    if not is_integer(blocks.type):
        raise context.refuse(
            node, "pl.spmd takes an integer", help="write `pl.spmd(4)`"
        )
    body, count = context.block(node.body), blocks.run

    def run(frame: Frame) -> None:
        before, frame.blocks = frame.blocks, concrete(count(frame))
        body(frame)
        frame.blocks = before

    return run
