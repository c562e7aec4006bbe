"""Loops that name what they carry: `init_values=`, `pl.yield_`, `pl.while_`.

for i, (acc,) in pl.range(n, init_values=(zero,)):
    nxt = pl.add(acc, tile)
    total = pl.yield_(nxt)        # acc in the next round, total after the loop
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from .closures import try_evaluate
from .context import Context, Run, Typed
from .declaring import declare
from .machine import Frame
from .standins import Operation
from .types import TupleType, format_type


@dataclass(slots=True)
class Carried:
    """What one loop carries: the names in its body, their first values.

    `results` are the names on the left of its `pl.yield_`, empty until that is read.
    """

    names: tuple[str, ...]
    initial: tuple[Typed, ...]
    results: tuple[str, ...] = ()
    has_yielded: bool = field(default=False)

    def start(self, frame: Frame) -> None:
        """Before the first round."""
        for name, typed in zip(self.names, self.initial, strict=True):
            frame.values[name] = typed.run(frame)

    def finish(self, frame: Frame) -> None:
        """After the last round, or where there was none."""
        for name, result in zip(self.names, self.results, strict=False):
            frame.values[result] = frame.values[name]


def read_carried(
    context: Context, node: ast.For, target: ast.expr | None
) -> Carried | None:
    """What `node` carries, `target` being the names; None where it carries nothing.

    Raises CompileError AR703 where names and first values do not match.
    """
    call = node.iter
    assert isinstance(call, ast.Call)
    given = [one.value for one in call.keywords if one.arg == "init_values"]
    names = target.elts if isinstance(target, ast.Tuple) else []
    if not given and target is None:
        return None
    if not given or target is None:
        raise context.refuse(
            node,
            f"`for {ast.unparse(node.target)} in {ast.unparse(node.iter)}`: names and "
            "init_values go together",
            help="write `for i, (a, b) in pl.range(n, init_values=(a0, b0))`",
        )
    values = context.expression(given[0])
    if (
        not isinstance(values.type, TupleType)
        or len(values.items) != len(names)
        or not all(isinstance(one, ast.Name) for one in names)
    ):
        raise context.refuse(
            node,
            f"`{ast.unparse(target)}` does not name the values of "
            f"`init_values={ast.unparse(given[0])}` one by one",
            help="write `for i, (a, b) in pl.range(n, init_values=(a0, b0))`",
        )
    bound = tuple(one.id for one in names if isinstance(one, ast.Name))
    return Carried(names=bound, initial=values.items)


def bind_carried(context: Context, node: ast.For, carried: Carried) -> None:
    """The names inside the loop, where its body starts."""
    for name, typed in zip(carried.names, carried.initial, strict=True):
        if context.scope.type_of(name) is None or context.scope.is_visible(name):
            declare(context, node, name, typed.type)
        else:
            context.scope.bind(name, typed.type)


def adopt_results(context: Context, node: ast.For, carried: Carried) -> None:
    """The names after the loop, which `pl.yield_` has bound."""
    last = node.body[-1]
    ends = isinstance(last, ast.Assign) and is_yield(context, last.value)
    if not carried.has_yielded or not ends:
        raise context.refuse(
            node,
            "the loop has init_values, and no pl.yield_ at its end",
            help="end its body with `result = pl.yield_(value)`",
        )
    for name, typed in zip(carried.results, carried.initial, strict=False):
        declare(context, node, name, typed.type)


def is_yield(context: Context, node: ast.expr) -> bool:
    """Whether `node` is a call of `pl.yield_`."""
    return is_call(context, node, "pl.yield_")


def is_call(context: Context, node: ast.expr, name: str) -> bool:
    """Whether `node` is a call of the operation `name`."""
    if not isinstance(node, ast.Call):
        return False
    found = try_evaluate(context, node.func)
    return isinstance(found, Operation) and found.name == name


def read_yield(
    context: Context, node: ast.stmt, targets: Sequence[ast.expr], call: ast.expr
) -> Run:
    """`result = pl.yield_(value)`: the values of the next round."""
    assert isinstance(call, ast.Call)
    names = tuple(one.id for one in targets if isinstance(one, ast.Name))
    if not context.carried or len(names) != len(call.args):
        raise context.refuse(
            node,
            f"`{ast.unparse(node)}` yields to no loop or branch, or not to names",
            help="write `result = pl.yield_(value)`, last in the body",
        )
    carried = context.carried[-1]
    values = tuple(context.expression(one) for one in call.args)
    if carried is None:
        return _bind_branch(context, node, names, values)
    _check_yield(context, node, carried, values)
    carried.has_yielded = True
    carried.results = names

    def run(frame: Frame) -> None:
        found = [one.run(frame) for one in values]
        frame.values.update(zip(carried.names, found, strict=True))

    return run


def _bind_branch(
    context: Context, node: ast.stmt, names: tuple[str, ...], values: tuple[Typed, ...]
) -> Run:
    """What both branches of an `if` yield: an assignment in each."""
    for name, value in zip(names, values, strict=True):
        declare(context, node, name, value.type)

    def run(frame: Frame) -> None:
        found = [one.run(frame) for one in values]
        frame.values.update(zip(names, found, strict=True))

    return run


def _check_yield(
    context: Context, node: ast.stmt, carried: Carried, values: tuple[Typed, ...]
) -> None:
    if len(values) != len(carried.names):
        raise context.refuse(
            node,
            f"{len(values)} values are yielded, and {len(carried.names)} are carried",
            help="yield one value for each of init_values",
        )
    for name, first, value in zip(carried.names, carried.initial, values, strict=True):
        if first.type != value.type:
            raise context.refuse(
                node,
                f"{name} starts as {format_type(first.type)} and is yielded as "
                f"{format_type(value.type)}",
                help="carry values of one type",
            )
