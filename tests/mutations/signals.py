"""Mutations of notifies and waits."""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Callable, Iterator

from .syntax import (
    READS,
    STORES,
    Place,
    argument,
    calls,
    expression,
    kinds,
    loops,
    name_of,
    offsets_of,
    rank_name,
    set_argument,
    shift,
    units,
)

Edits = Iterator[Callable[[], None]]


def drop_barrier(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    for notify, wait in _barriers(kernel):

        def edit(notify: Place = notify, wait: Place = wait) -> None:
            notify.replace()
            wait.replace()

        yield edit


def _barriers(kernel: ast.FunctionDef) -> Iterator[tuple[Place, Place]]:
    """A notify, and the wait right after it."""
    waits = {(id(one.block), one.at): one for one in units(kernel, "wait")}
    for notify in units(kernel, "notify"):
        wait = waits.get((id(notify.block), notify.at + 1))
        if wait is not None:
            yield notify, wait


def drop_notify(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    for unit in units(kernel, "notify"):
        yield unit.replace


def drop_wait(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    for unit in units(kernel, "wait"):
        yield unit.replace


def wait_first(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    for notify, wait in _barriers(kernel):

        def edit(notify: Place = notify, wait: Place = wait) -> None:
            first, second = notify.statement, wait.statement
            notify.block[notify.at], wait.block[wait.at] = second, first

        yield edit


def notify_early(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    """A notify moved before the nearest store before it."""
    for unit in units(kernel, "notify"):
        earlier = range(unit.at)
        stores = [at for at in earlier if kinds(unit.block[at]) & STORES]
        if stores:
            yield lambda unit=unit, to=stores[-1]: unit.block.insert(
                to, unit.block.pop(unit.at)
            )


def wait_late(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    """A wait moved after the nearest read after it."""
    for unit in units(kernel, "wait"):
        later = range(unit.at + 1, len(unit.block))
        reads = [at for at in later if kinds(unit.block[at]) & READS]
        if reads:
            yield lambda unit=unit, to=reads[0]: unit.block.insert(
                to, unit.block.pop(unit.at)
            )


def _expect(kernel: ast.FunctionDef, by: str) -> Edits:
    for call in calls(kernel, "wait"):
        expected = argument(call, "expected", 2)
        assert expected is not None
        value = shift(expected, by)
        yield lambda call=call, value=value: set_argument(call, "expected", 2, value)


def expect_more(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    return _expect(kernel, "+ 1")


def expect_less(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    return _expect(kernel, "- 1")


def _ranges(kernel: ast.FunctionDef, kind: str) -> Iterator[ast.Call]:
    """The `pl.range(...)` of loops that do nothing but `kind`."""
    for unit in units(kernel, kind):
        loop = unit.statement
        if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call):
            yield loop.iter


def start_later(bounds: ast.Call) -> None:
    if len(bounds.args) == 1:
        bounds.args.insert(0, ast.Constant(1))
    else:
        bounds.args[0] = shift(bounds.args[0], "+ 1")


def _stop_earlier(bounds: ast.Call) -> None:
    at = min(1, len(bounds.args) - 1)
    bounds.args[at] = shift(bounds.args[at], "- 1")


def notify_short(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    for bounds in _ranges(kernel, "notify"):
        yield lambda bounds=bounds: start_later(bounds)


def wait_short(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    for bounds in _ranges(kernel, "wait"):
        yield lambda bounds=bounds: _stop_earlier(bounds)


def notify_twice(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    """In a loop over steps from 1, step 1 goes where step 2 goes."""
    for unit in units(kernel, "notify"):
        loop = unit.statement
        if not (isinstance(loop, ast.For) and isinstance(loop.target, ast.Name)):
            continue
        first, name = loop.body[0], loop.target.id
        if isinstance(first, ast.Assign) and name in ast.unparse(first.value):
            text = ast.unparse(first.value).replace(name, f"pl.max({name}, 2)")
            value = expression(text)
            yield lambda first=first, value=value: setattr(first, "value", value)


def notify_column(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    for call in calls(kernel, "notify"):
        offsets, peer = offsets_of(call), argument(call, "peer", 1)
        if offsets is not None and peer is not None and len(offsets.elts) > 1:
            yield lambda offsets=offsets, peer=peer: offsets.elts.__setitem__(
                -1, copy.deepcopy(peer)
            )


def wait_column(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    name = rank_name(kernel)
    for call in calls(kernel, "wait"):
        offsets = offsets_of(call)
        if offsets is not None and len(offsets.elts) > 1:
            yield lambda offsets=offsets: offsets.elts.__setitem__(-1, ast.Name(name))


def _rows(kernel: ast.FunctionDef) -> list[tuple[str, ast.List]]:
    found = (offsets_of(call) for call in calls(kernel, "notify", "wait"))
    return [(ast.unparse(one.elts[0]), one) for one in found if one is not None]


def one_row(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    """Two rows that are named become one."""
    rows = _rows(kernel)
    names = [name for name in dict.fromkeys(name for name, _ in rows) if name.isupper()]
    for first, second in itertools.pairwise(names):

        def edit(first: str = first, second: str = second) -> None:
            for name, offsets in rows:
                if name == second:
                    offsets.elts[0] = ast.Name(first)

        yield edit


def one_row_for_steps(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    """Rows that are counted up become the first one."""
    rows = _rows(kernel)
    names = {
        node.target.id for node in loops(kernel) if isinstance(node.target, ast.Name)
    }
    counted = [
        offsets
        for _, offsets in rows
        if any(
            isinstance(one, ast.Name) and one.id in names
            for one in ast.walk(offsets.elts[0])
        )
    ]

    def edit() -> None:
        for offsets in counted:
            offsets.elts[0] = ast.Constant(0)

    if counted:
        yield edit


def notify_again(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    for unit in units(kernel, "notify"):
        yield lambda unit=unit: unit.replace(
            unit.statement, copy.deepcopy(unit.statement)
        )


def _replace_word(kernel: ast.FunctionDef, kind: str, old: str, new: str) -> Edits:
    for call in calls(kernel, kind):
        for node in ast.walk(call):
            if isinstance(node, ast.Attribute) and node.attr == old:
                yield lambda node=node: setattr(node, "attr", new)


def set_slots(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    return _replace_word(kernel, "notify", "AtomicAdd", "Set")


def wait_equal(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    return _replace_word(kernel, "wait", "Ge", "Eq")


def pipeline(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    for loop in loops(kernel):
        has_signals = kinds(loop) & {"notify", "wait"}
        if (
            has_signals
            and isinstance(loop.iter, ast.Call)
            and name_of(loop.iter) == "range"
        ):
            value = expression(
                f"pl.pipeline({', '.join(map(ast.unparse, loop.iter.args))}, stage=2)"
            )
            yield lambda loop=loop, value=value: setattr(loop, "iter", value)


def rows_short(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    for node in module.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "NUM_ROWS":
            yield lambda node=node: setattr(node, "value", shift(node.value, "- 1"))


def skip_round(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    """A loop whose rounds signal and move data stops one earlier."""
    for loop in loops(kernel):
        moves = kinds(loop) & (READS | STORES)
        signals = kinds(loop) >= {"notify", "wait"}
        if moves and signals and isinstance(loop.iter, ast.Call):
            yield lambda loop=loop: _stop_earlier(loop.iter)
