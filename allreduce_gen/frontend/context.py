"""What reading a function's body needs: names, types, and where refusals point."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from allreduce_gen.ir.events import Origin

from .machine import Frame
from .program import Function, Kind, Program
from .refusals import refusal
from .scope import Scope
from .terms import Term, is_number
from .types import StaticType

Run: TypeAlias = Callable[[Frame], Any]


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression that has been read: its type, and how to get its value.

    `constant` is the value where it is known without running. `items` are the parts of
    a list or tuple written out. `is_load` marks a tile that comes from memory. `term`
    is arithmetic as it is written.
    """

    type: StaticType
    run: Run
    constant: int | float | bool | None = None
    items: tuple[Typed, ...] = ()
    is_load: bool = False
    term: Term | None = None

    @property
    def is_number(self) -> bool:
        """Whether pypto knows the value, if not before it has unrolled loops."""
        if self.term is None:
            return isinstance(self.constant, int)
        return is_number(self.term)


def constant(type_: StaticType, value: int | float | bool) -> Typed:
    """An expression whose value is known."""
    return Typed(type_, lambda _: value, constant=value)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Routine:
    """A function that has been read. `run` takes a frame with its parameters bound."""

    function: Function
    result: StaticType
    run: Run


class Context(ABC):
    """One function while it is read."""

    def __init__(self, program: Program, function: Function) -> None:
        self.program = program
        self.function = function
        self.scope = Scope()
        self.loop_depth = 0
        self.carried: list[Any] = []
        """What the loops around carry by name, innermost last."""
        self.conditions: list[Typed | None] = []
        """What `pl.cond` says in each `pl.while_` around, innermost last."""
        self.results: list[Typed] = []
        """What the function's returns give, in the order of its lines."""

    @abstractmethod
    def expression(self, node: ast.expr) -> Typed:
        """Read an expression."""

    @abstractmethod
    def block(self, body: Sequence[ast.stmt]) -> Run:
        """Read statements one after another."""

    @abstractmethod
    def routine(self, function: Function) -> Routine:
        """Read another function, once for all its callers."""

    @abstractmethod
    def specialise(self, function: Function, given: tuple[Typed, ...]) -> Function:
        """`function` for these arguments, where its own types are open."""

    @property
    def kind(self) -> Kind:
        return self.function.kind

    def refuse(self, node: ast.AST, message: str, *, help: str) -> Exception:
        """The AR703 to raise for the source at `node`."""
        line = getattr(node, "lineno", self.function.line)
        return refusal(self.function.file, line, message, help=help)

    def origin(self, node: ast.AST) -> Origin:
        """Where events that `node` makes come from."""
        return Origin(
            file=self.function.file, line=getattr(node, "lineno", self.function.line)
        )
