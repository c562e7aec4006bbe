"""Reading whole functions into something that runs."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from .context import Context, Routine, Run, Typed
from .dispatch import read_call
from .expressions import read_expression
from .loops import Returned
from .machine import Frame
from .program import Function, Program, bind_numbers, bind_types
from .returning import require_return
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

    def specialise(self, function: Function, given: tuple[Typed, ...]) -> Function:
        """`function` for these arguments, the same one for those that are alike."""
        bound = bind_types(function, [one.type for one in given])
        bound = bind_numbers(bound, [one.is_number for one in given])
        if bound is function:
            return function
        for known in self._routines:
            if known.body is bound.body and known.parameters == bound.parameters:
                return known
        return bound


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
        is_number = parameter.is_number
        context.scope.bind(parameter.name, parameter.type, is_number=is_number)
    run = context.block(function.body)
    require_return(context)
    results = context.results
    type_ = results[-1].type if results else NoneType()
    if not results:
        return Routine(function=function, result=type_, run=run)

    def run_and_return(frame: Frame) -> object:
        try:
            run(frame)
        except Returned as end:
            return end.value
        return None

    return Routine(function=function, result=type_, run=run_and_return)
