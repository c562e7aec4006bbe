"""Reading `for` loops over pl.range and its kin."""

from __future__ import annotations

import ast

from .affine import Scalar, concrete
from .branches import refuse_reread
from .closures import try_evaluate
from .context import Context, Run, Typed, constant
from .loops import Loop, run_loop
from .machine import Frame
from .operators import is_integer
from .refusals import REFUSED_CALLS
from .scope import assigned_names, exposed_names
from .standins import Operation
from .types import INDEX

_ITERATORS = ("pl.range", "pl.unroll", "pl.parallel", "pl.pipeline")
_KEYWORDS = {"pl.pipeline": {"stage", "attrs"}}


def read_for(context: Context, node: ast.For) -> Run:
    """`for name in pl.range(...)`."""
    iterator, call = _iterator(context, node)
    if node.orelse or not isinstance(node.target, ast.Name):
        raise context.refuse(
            node,
            f"`for {ast.unparse(node.target)} in {ast.unparse(node.iter)}` is not "
            "interpreted",
            help="use one simple loop variable, and no else",
        )
    bounds = _bounds(context, node, iterator, call)
    variable = node.target.id
    outer = {
        name for name in assigned_names(node.body) if context.scope.is_visible(name)
    }
    body = _read_body(context, node, iterator)
    exposed = exposed_names(node.body) - {variable}
    refuse_reread(context, node, exposed)
    loop = Loop(
        variable=variable,
        body=body,
        carried=tuple(sorted(outer - {variable})),
        exposed=frozenset(exposed),
        origin=context.origin(node),
    )
    return _runner(context, node, loop, bounds)


def _read_body(context: Context, node: ast.For, iterator: str) -> Run:
    assert isinstance(node.target, ast.Name)
    is_pipeline = iterator == "pl.pipeline"
    context.pipeline_depth += is_pipeline
    context.loop_depth += 1
    with context.scope.block():
        context.scope.bind_loop_variable(node.target.id)
        body = context.block(node.body)
    context.loop_depth -= 1
    context.pipeline_depth -= is_pipeline
    return body


def _iterator(context: Context, node: ast.For) -> tuple[str, ast.Call]:
    """Which of pl.range and its kin drives the loop, and its call."""
    call = node.iter
    found = try_evaluate(context, call.func) if isinstance(call, ast.Call) else None
    if isinstance(call, ast.Call) and isinstance(found, Operation):
        if found.name in _ITERATORS:
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


def _bounds(
    context: Context, node: ast.For, iterator: str, call: ast.Call
) -> tuple[Typed, Typed, Typed]:
    """Start, stop and step."""
    allowed = _KEYWORDS.get(iterator, {"attrs"})
    for keyword in call.keywords:
        if keyword.arg not in allowed:
            raise context.refuse(
                node,
                f"`{iterator}` with `{keyword.arg}=` is not interpreted",
                help="carry values by rebinding names that are bound before the loop",
            )
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
