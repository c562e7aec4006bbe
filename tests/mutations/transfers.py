"""Mutations of what is moved and combined."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

from .signals import start_later
from .syntax import (
    COMBINES,
    STORES,
    Place,
    argument,
    calls,
    expression,
    kinds,
    loops,
    name_of,
    offsets_of,
    places,
    rank_name,
    set_argument,
    shift,
)

Edits = Iterator[Callable[[], None]]


def _turns(kernel: ast.FunctionDef) -> Iterator[tuple[ast.Assign, ast.BinOp, str]]:
    """`peer = (x + step) % N` in a loop over `step`."""
    for loop in loops(kernel):
        name = ast.unparse(loop.target)
        for node in loop.body:
            match node:
                case ast.Assign(
                    value=ast.BinOp(left=ast.BinOp(op=ast.Add()), op=ast.Mod()) as value
                ):
                    yield node, value, name


def count_down(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    for node, value, name in _turns(kernel):
        left = value.left
        assert isinstance(left, ast.BinOp)
        if ast.unparse(left.right) == name:
            by = ast.unparse(value.right)
            text = f"({ast.unparse(left.left)} + {by} - {name}) % {by}"
            yield lambda node=node, text=text: setattr(node, "value", expression(text))


def peer_range(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    for node, value, name in _turns(kernel):
        if name in ast.unparse(value.left):
            yield lambda node=node, value=value: setattr(node, "value", value.left)


def _set_peers(kernel: ast.FunctionDef, text: str) -> Edits:
    for call in calls(kernel, "remote_load"):
        peer = argument(call, "peer", 1)
        assert peer is not None
        value = expression(text.format(ast.unparse(peer)))
        yield lambda call=call, value=value: set_argument(call, "peer", 1, value)


def next_peer(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    return _set_peers(kernel, "({} + 1) % NUM_RANKS")


def own_copy(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    return _set_peers(kernel, rank_name(kernel))


def _shift(kernel: ast.FunctionDef, names: tuple[str, ...], by: str) -> Edits:
    for call in calls(kernel, *names):
        offsets = offsets_of(call)
        if offsets is not None:
            yield lambda offsets=offsets: offsets.elts.__setitem__(
                -1, shift(offsets.elts[-1], by)
            )


def shift_read(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    return _shift(kernel, ("load", "remote_load"), "+ 8")


def shift_store(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    return _shift(kernel, ("store", "remote_store"), "+ 8")


def swap_chunks(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    """A read or a store of one chunk deals with the next chunk."""
    constants = {
        ast.unparse(node.targets[0])
        for node in module.body
        if isinstance(node, ast.Assign)
    }
    if not constants >= {"CHUNK", "SIZE"}:
        return
    for call in calls(kernel, "remote_load", "store", "load"):
        offsets = offsets_of(call)
        if offsets is not None and not isinstance(offsets.elts[-1], ast.Constant):
            text = f"({ast.unparse(offsets.elts[-1])} + CHUNK) % SIZE"
            value = expression(text)
            yield lambda offsets=offsets, value=value: offsets.elts.__setitem__(
                -1, value
            )


def _combining(kernel: ast.FunctionDef) -> Iterator[Place]:
    for place in places(kernel):
        value = getattr(place.statement, "value", None)
        if isinstance(value, ast.Call) and name_of(value) in COMBINES:
            yield place


def drop_contribution(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    for loop in loops(kernel):
        inner = [one for one in loops(loop) if one is not loop]
        found = kinds(loop)
        adds = found & COMBINES and not any(kinds(one) & COMBINES for one in inner)
        if adds and "notify" not in found and isinstance(loop.iter, ast.Call):
            yield lambda loop=loop: start_later(loop.iter)


def drop_combine(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    """`acc = pl.add(acc, contribution)` left out."""
    for place in _combining(kernel):
        assign = place.statement
        if isinstance(assign, ast.Assign) and isinstance(assign.value, ast.Call):
            first = assign.value.args[0]
            if ast.unparse(assign.targets[0]) == ast.unparse(first):
                yield place.replace


def double_combine(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    """`acc = pl.add(acc, contribution)` twice."""
    for place in _combining(kernel):
        assign = place.statement
        if isinstance(assign, ast.Assign) and isinstance(assign.value, ast.Call):
            first = assign.value.args[0]
            if ast.unparse(assign.targets[0]) == ast.unparse(first):
                yield lambda place=place: place.replace(
                    place.statement, copy.deepcopy(place.statement)
                )


def add_constant(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    for place in _combining(kernel):
        assign = place.statement
        if isinstance(assign, ast.Assign):
            name = ast.unparse(assign.targets[0])
            more = ast.parse(f"{name} = pl.add({name}, 1)").body[0]
            yield lambda place=place, more=more: place.replace(place.statement, more)


def drop_store(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    for place in places(kernel):
        value = getattr(place.statement, "value", None)
        if isinstance(value, ast.Call) and name_of(value) in STORES:
            yield place.replace


def skip_gather(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    """A loop that only copies, from peers."""
    for place in places(kernel):
        found = kinds(place.statement)
        copies = found >= {"remote_load", "store"} and not found & COMBINES
        if copies and isinstance(place.statement, ast.For):
            yield place.replace


def small_window(kernel: ast.FunctionDef, module: ast.Module) -> Edits:
    for call in calls(module, "alloc_window_buffer"):
        shape = call.args[0]
        if isinstance(shape, ast.List) and "ROW" not in ast.unparse(shape):
            yield lambda shape=shape: shape.elts.__setitem__(
                -1, shift(shape.elts[-1], "// 2")
            )
