"""What mutations look for in a kernel's syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

Block = list[ast.stmt]

COMBINES = frozenset({"add", "mul", "maximum", "minimum"})
STORES = frozenset({"store", "remote_store"})
READS = frozenset({"load", "remote_load"})


class Place(NamedTuple):
    """A statement by its place, so that it can be moved or replaced."""

    block: Block
    at: int

    @property
    def statement(self) -> ast.stmt:
        return self.block[self.at]

    def replace(self, *statements: ast.stmt) -> None:
        self.block[self.at : self.at + 1] = statements or (ast.Pass(),)


def kernel_of(module: ast.Module) -> ast.FunctionDef:
    """The function that signals: the InCore kernel."""
    return next(
        node
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef) and kinds(node) & {"notify", "load"}
    )


def name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def kinds(node: ast.AST) -> set[str]:
    """The names of everything that is called in `node`."""
    return {name_of(one) for one in ast.walk(node) if isinstance(one, ast.Call)}


def calls(node: ast.AST, *names: str) -> Iterator[ast.Call]:
    """The calls of `names`, in the order of the text."""
    found = (
        one
        for one in ast.walk(node)
        if isinstance(one, ast.Call) and name_of(one) in names
    )
    yield from sorted(found, key=lambda one: (one.lineno, one.col_offset))


def blocks(node: ast.AST) -> Iterator[Block]:
    """All lists of statements in `node`, outer ones first."""
    for name in ("body", "orelse"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block:
            yield block
            for statement in block:
                yield from blocks(statement)


def places(node: ast.AST) -> Iterator[Place]:
    for block in blocks(node):
        for at in range(len(block)):
            yield Place(block, at)


_SIGNALS_OR_DATA = frozenset({"notify", "wait"}) | STORES | READS


def units(node: ast.AST, kind: str) -> Iterator[Place]:
    """The largest statements that do nothing but `kind`: a loop of notifies, say."""
    for block in [getattr(node, name, []) for name in ("body", "orelse")]:
        for at, statement in enumerate(block):
            found = kinds(statement) & _SIGNALS_OR_DATA
            if found == {kind}:
                yield Place(block, at)
            elif kind in found:
                yield from units(statement, kind)


def loops(node: ast.AST) -> Iterator[ast.For]:
    found = (one for one in ast.walk(node) if isinstance(one, ast.For))
    yield from sorted(found, key=lambda one: one.lineno)


def argument(call: ast.Call, name: str, position: int) -> ast.expr | None:
    """An argument by its name, or else by its position."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[position] if position < len(call.args) else None


def set_argument(call: ast.Call, name: str, position: int, value: ast.expr) -> None:
    for keyword in call.keywords:
        if keyword.arg == name:
            keyword.value = value
            return
    call.args[position] = value


def offsets_of(call: ast.Call) -> ast.List | None:
    """The offsets of a load, store, notify or wait."""
    position = {"load": 1, "store": 1, "wait": 1}.get(name_of(call), 2)
    if name_of(call) == "remote_store":
        position = 3
    found = argument(call, "offsets", position)
    return found if isinstance(found, ast.List) else None


def shift(value: ast.expr, by: str) -> ast.expr:
    """`value + by`."""
    return expression(f"({ast.unparse(value)}) {by}")


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def rank_name(kernel: ast.FunctionDef) -> str:
    """What the kernel calls its own rank."""
    for node in ast.walk(kernel):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                if name_of(call) == "rank":
                    return name
    return "my_rank"
