"""Reading whole functions into something that runs."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from .context import Context, Routine, Run, Typed
from .dispatch import read_call
from .expressions import read_expression
from .machine import Frame
from .program import Function, Program
from .statements import read_block
from .types import NoneType


class Resolver(Context):
    """One function while it is read; `routines` keeps what has been read so far."""

    def __init__(
        self,
        program: Program,
        function: Function,
        routines: dict[Function, Routine | None],
    ) -> None:
        super().__init__(program, function)
        self._routines = routines

    def expression(self, node: ast.expr) -> Typed:
        """Read an expression."""
        if isinstance(node, ast.Call):
            return read_call(self, node)
        return read_expression(self, node)

    def block(self, body: Sequence[ast.stmt]) -> Run:
        """Read statements one after another."""
        return read_block(self, body)

    def routine(self, function: Function) -> Routine:
        """Read another function, once for all its callers."""
        return read_routine(self.program, function, self._routines)


def read_routine(
    program: Program, function: Function, routines: dict[Function, Routine | None]
) -> Routine:
    """`function` as a routine. Raises CompileError AR703 for what has no meaning."""
    if function not in routines:
        routines[function] = None
        context = Resolver(program, function, routines)
        routines[function] = _read(context)
    routine = routines[function]
    if routine is None:
        node = function.body[0]
        raise Resolver(program, function, routines).refuse(
            node, f"{function.name} calls itself", help="write a loop instead"
        )
    return routine


def _read(context: Context) -> Routine:
    function = context.function
    for parameter in function.parameters:
        context.scope.bind(parameter.name, parameter.type)
    *body, last = function.body
    has_result = isinstance(last, ast.Return) and last.value is not None
    if function.declares_result and not has_result:
        raise context.refuse(
            last,
            f"{function.name} declares a result and returns none",
            help="return the stored tensor, or leave the `->` annotation out",
        )
    if not isinstance(last, ast.Return):
        return Routine(
            function=function, result=NoneType(), run=context.block(function.body)
        )
    run = context.block(body)
    if last.value is None:
        return Routine(function=function, result=NoneType(), run=run)
    result = context.expression(last.value)

    def run_and_return(frame: Frame) -> object:
        run(frame)
        return result.run(frame)

    return Routine(function=function, result=result.type, run=run_and_return)
