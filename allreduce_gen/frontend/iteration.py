"""Reading `for` loops over pl.range and its kin."""

from __future__ import annotations

import ast

from allreduce_gen.ir.events import Origin

from .affine import Scalar, concrete
from .branches import refuse_reread
from .carrying import (
    Carried,
    adopt_results,
    bind_carried,
    is_call,
    read_carried,
)
from .closures import try_evaluate
from .context import Context, Run, Typed, constant
from .loops import Loop, run_loop
from .machine import Frame
from .operators import is_integer
from .pipelining import as_block, pipelined
from .refusals import REFUSED_CALLS
from .scope import assigned_names, exposed_names
from .standins import Operation
from .types import INDEX

_ITERATORS = ("pl.range", "pl.unroll", "pl.parallel", "pl.pipeline")
_KEYWORDS = {
    "pl.pipeline": {"stage", "attrs", "init_values"},
    "pl.unroll": {"attrs"},
}


def read_for(context: Context, node: ast.For) -> Run:
    """`for name in pl.range(...)`, or with what it carries: `for i, (a,) in ...`."""
    iterator, call = _iterator(context, node)
    if iterator == "pl.while_":
        return _read_while(context, node)
    variable, carrying = _targets(context, node)
    carried = read_carried(context, node, carrying)
    _check_keywords(context, node, iterator, call)
    bounds = _bounds(context, node, iterator, call)
    outer = {
        name for name in assigned_names(node.body) if context.scope.is_visible(name)
    }
    is_number = iterator == "pl.unroll" or _is_one_round(bounds)
    stays = not is_number or iterator == "pl.parallel"
    with context.scope.block(node.body if stays else None):
        context.scope.bind_loop_variable(
            variable, is_number=is_number, span=_span(bounds)
        )
        body = _read_body(context, node, carried)
    exposed = exposed_names(node.body) - {variable}
    refuse_reread(context, node, exposed)
    names = set() if carried is None else set(carried.names)
    loop = Loop(
        variable=variable,
        body=body,
        carried=tuple(sorted((outer | names) - {variable})),
        exposed=frozenset(exposed | names),
        origin=context.origin(node),
    )
    run = _runner(context, node, loop, bounds)
    if iterator == "pl.pipeline":
        run = _watch(run, loop.origin)
    return run if carried is None else _carry(context, node, carried, run)


def _targets(context: Context, node: ast.For) -> tuple[str, ast.expr | None]:
    """The loop's variable, and the names of what it carries."""
    if not node.orelse:
        match node.target:
            case ast.Name(id=variable):
                return variable, None
            case ast.Tuple(elts=[ast.Name(id=variable), ast.Tuple() as carried]):
                return variable, carried
    raise context.refuse(
        node,
        f"`for {ast.unparse(node.target)} in {ast.unparse(node.iter)}` is not "
        "interpreted",
        help="use one simple loop variable, and no else",
    )


def _watch(rounds: Run, origin: Origin) -> Run:
    """`rounds` of a pl.pipeline loop, looked at for what it may reorder."""

    def run(frame: Frame) -> None:
        with pipelined(frame, origin):
            rounds(frame)

    return run


def _carry(context: Context, node: ast.For, carried: Carried, rounds: Run) -> Run:
    """`rounds` with first values before them and results after them."""
    adopt_results(context, node, carried)

    def run(frame: Frame) -> None:
        carried.start(frame)
        rounds(frame)
        carried.finish(frame)

    return run


def _read_body(
    context: Context,
    node: ast.For,
    carried: Carried | None,
) -> Run:
    context.loop_depth += 1
    if carried is not None:
        bind_carried(context, node, carried)
        context.carried.append(carried)
    body = context.block(node.body)
    if carried is not None:
        context.carried.pop()
    context.loop_depth -= 1
    return as_block(body)


def _read_while(context: Context, node: ast.For) -> Run:
    """`for (a,) in pl.while_(init_values=(a0,)):`, with `pl.cond` in its first line."""
    carried = read_carried(context, node, node.target)
    if carried is None or node.orelse:
        raise context.refuse(
            node,
            "`pl.while_` needs init_values, and no else",
            help="write `for (x,) in pl.while_(init_values=(x0,)):`",
        )
    first = node.body[0]
    if not isinstance(first, ast.Expr) or not is_call(context, first.value, "pl.cond"):
        raise context.refuse(
            node,
            "the body of `pl.while_` does not start with `pl.cond`",
            help="write `pl.cond(x < limit)` in its first line",
        )
    context.conditions.append(None)
    with context.scope.block(node.body):
        body = _read_body(context, node, carried)
    condition = context.conditions.pop()
    assert condition is not None
    file = context.function.file

    def rounds(frame: Frame) -> None:
        while condition.run(frame):
            frame.count_rounds(1, file, node.lineno)
            body(frame)

    return _carry(context, node, carried, rounds)


def _iterator(context: Context, node: ast.For) -> tuple[str, ast.Call]:
    """Which of pl.range and its kin drives the loop, and its call."""
    call = node.iter
    found = try_evaluate(context, call.func) if isinstance(call, ast.Call) else None
    if isinstance(call, ast.Call) and isinstance(found, Operation):
        if found.name in (*_ITERATORS, "pl.while_"):
            return found.name, call
        raise context.refuse(
            node,
            f"a loop over `{found.name}` is not interpreted",
            help=f"use {', '.join(_ITERATORS)}",
        )
    text = ast.unparse(call)
    refused = REFUSED_CALLS.get(text.partition("(")[0])
    raise context.refuse(
        node,
        f"a loop over `{text}`"
        + (f": kernels do not have {refused.what}" if refused else ""),
        help=refused.instead if refused else "write `for step in pl.range(...)`",
    )


def _check_keywords(
    context: Context, node: ast.For, iterator: str, call: ast.Call
) -> None:
    """Refuse keywords that the iterator does not have, or lacks."""
    given = {keyword.arg for keyword in call.keywords}
    allowed = _KEYWORDS.get(iterator, {"attrs", "init_values"})
    for name in sorted(str(one) for one in given - allowed):
        raise context.refuse(
            node,
            f"`{iterator}` with `{name}=` is not interpreted",
            help="carry values by rebinding names that are bound before the loop",
        )
    stages = [one.value for one in call.keywords if one.arg == "stage"]
    if iterator == "pl.pipeline" and not any(_is_count(context, one) for one in stages):
        raise context.refuse(
            node,
            "`pl.pipeline` without `stage=`, a positive constant integer",
            help="give the number of stages",
        )


def _is_count(context: Context, node: ast.expr) -> bool:
    value = try_evaluate(context, node)
    return type(value) is int and value > 0


def _bounds(
    context: Context, node: ast.For, iterator: str, call: ast.Call
) -> tuple[Typed, Typed, Typed]:
    """Start, stop and step."""
    given = [context.expression(one) for one in call.args]
    is_constant = all(isinstance(one.constant, int) for one in given)
    if not 1 <= len(given) <= 3 or not all(is_integer(one.type) for one in given):
        raise context.refuse(
            node,
            f"`{ast.unparse(call)}`: wanted one to three integers",
            help="write pl.range(stop), (start, stop) or (start, stop, step)",
        )
    if iterator == "pl.unroll" and not is_constant:
        raise context.refuse(
            node,
            f"`{ast.unparse(call)}`: pl.unroll takes constants only",
            help="use pl.range for bounds known at run time",
        )
    if len(given) == 1:
        given.insert(0, constant(INDEX, 0))
    if len(given) == 2:
        given.append(constant(INDEX, 1))
    return given[0], given[1], given[2]


def _span(bounds: tuple[Typed, Typed, Typed]) -> tuple[int, int] | None:
    """The variable's least and greatest value, as far as pypto knows."""
    start, stop = bounds[0].constant, bounds[1].constant
    if isinstance(start, int) and isinstance(stop, int) and start < stop:
        return start, stop - 1
    return None


def _is_one_round(bounds: tuple[Typed, Typed, Typed]) -> bool:
    """Whether pypto knows that a loop has one round, and so the variable's value."""
    start, stop, step = (bound.constant for bound in bounds)
    if not (isinstance(start, int) and isinstance(stop, int) and isinstance(step, int)):
        return False
    return step > 0 and start < stop <= start + step


def _runner(
    context: Context, node: ast.For, loop: Loop, bounds: tuple[Typed, Typed, Typed]
) -> Run:
    start, stop, step = (bound.run for bound in bounds)

    def run(frame: Frame) -> None:
        first, by = start(frame), concrete(step(frame))
        if by <= 0:
            raise context.refuse(
                node,
                f"the loop counts by {by}: kernels want a positive step",
                help="count up, and subtract inside the loop",
            )
        distance: Scalar = stop(frame) - first
        run_loop(loop, frame, first, by, max(0, -(-concrete(distance) // by)))

    return run
