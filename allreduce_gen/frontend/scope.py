"""Which names a function has bound, with which type, and where they may be used.

A name keeps one type in the whole function. It may be used in the block that first
binds it and in the blocks inside that one; another block may bind it anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from .types import INDEX, StaticType

Path = tuple[int, ...]


class Scope:
    """The names of one function while its body is read from top to bottom."""

    def __init__(self) -> None:
        self._types: dict[str, StaticType] = {}
        self._homes: dict[str, Path] = {}
        self._path: Path = ()
        self._blocks = 0
        self.loop_variables: set[str] = set()
        self.roots: dict[str, str | None] = {}
        """For names of tensors, whose memory they are, where the text shows it."""
        self.given_away: dict[str, int] = {}
        """Names passed as Out or InOut and not bound since, with the line."""
        self.numbers: set[str] = set()
        """Names whose values pypto knows: constants, and rounds that it unrolls."""
        self.spans: dict[str, tuple[int, int]] = {}
        """For loop variables, the least and the greatest value, if pypto knows."""
        self._rebound: set[str] = set()
        self._depth = 0

    def type_of(self, name: str) -> StaticType | None:
        """The type that `name` has had since it was first bound, or None."""
        return self._types.get(name)

    def is_visible(self, name: str) -> bool:
        """Whether every path to this point has bound `name`."""
        home = self._homes.get(name)
        return home is not None and self._path[: len(home)] == home

    def is_outer(self, name: str) -> bool:
        """Whether `name` is bound outside the innermost block."""
        return self.is_visible(name) and len(self._homes[name]) < len(self._path)

    def bind(self, name: str, type_: StaticType, *, is_number: bool = False) -> None:
        """`name` is bound here. The caller has compared the types.

        pypto looks through names that are bound in no branch and no loop that stays.
        """
        self._set_number(name, is_number and self._depth == 0)
        if not self.is_visible(name):
            self._homes[name] = self._path
        self._types[name] = type_
        self.spans.pop(name, None)
        self.given_away.pop(name, None)

    def _set_number(self, name: str, is_number: bool) -> None:
        self._rebound.add(name)
        self.numbers.discard(name)
        if is_number:
            self.numbers.add(name)

    def bind_loop_variable(
        self, name: str, *, is_number: bool, span: tuple[int, int] | None
    ) -> None:
        """`name` counts the rounds of a loop whose body starts here, within `span`.

        It is a name of its own: what it was before cannot be read after the loop.
        """
        self._set_number(name, is_number)
        self._homes[name] = self._path
        self._types[name] = INDEX
        self.spans.pop(name, None)
        if span is not None:
            self.spans[name] = span
        self.loop_variables.add(name)

    @contextmanager
    def block(self, rounds: Sequence[ast.stmt] | None = ()) -> Iterator[Path]:
        """A loop's or branch's body; gives its path.

        A loop has other `rounds` before each; None is one that pypto unrolls. What a
        block binds is no number behind it: it may have been passed by.
        """
        outer, self._blocks = self._path, self._blocks + 1
        self._path = (*outer, self._blocks)
        depth, before, rebound = self._depth, self.numbers, self._rebound
        self._depth += rounds is not None
        self.numbers, self._rebound = before - assigned_names(rounds or ()), set()
        try:
            yield self._path
        finally:
            self._path, self._depth = outer, depth
            self.numbers = before - self._rebound
            self._rebound |= rebound

    def homed_in(self, path: Path) -> set[str]:
        """The names whose home is the block at `path`."""
        return {name for name, home in self._homes.items() if home == path}

    def adopt(self, names: Iterable[str]) -> None:
        """Both branches have bound `names`: they live on in this block."""
        for name in names:
            self._homes[name] = self._path


def assigned_names(body: Iterable[ast.stmt]) -> set[str]:
    """Every name that `body` binds, inner blocks included."""
    return {
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def exposed_names(body: Iterable[ast.stmt]) -> set[str]:
    """Names that `body` may read before it binds them: a round gets the last one's."""
    exposed: set[str] = set()
    _walk(body, set(), exposed)
    return exposed


def _walk(body: Iterable[ast.stmt], bound: set[str], exposed: set[str]) -> None:
    for statement in body:
        match statement:
            case ast.If():
                _reads(statement.test, bound, exposed)
                then, other = set(bound), set(bound)
                _walk(statement.body, then, exposed)
                _walk(statement.orelse, other, exposed)
                bound |= then & other
            case ast.For():
                _reads(statement.iter, bound, exposed)
                _walk(statement.body, bound | _names(statement.target), exposed)
            case ast.While():
                _reads(statement.test, bound, exposed)
                _walk(statement.body, set(bound), exposed)
            case ast.With():
                for item in statement.items:
                    _reads(item.context_expr, bound, exposed)
                _walk(statement.body, bound, exposed)
            case _:
                _reads(statement, bound, exposed)
                bound |= _names(statement)


def _reads(node: ast.AST, bound: set[str], exposed: set[str]) -> None:
    exposed |= {
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name)
        and isinstance(one.ctx, ast.Load)
        and one.id not in bound
    }


def _names(node: ast.AST) -> set[str]:
    return {
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
