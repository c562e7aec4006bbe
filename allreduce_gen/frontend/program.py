"""A program as its decorators describe it: functions, parameters, syntax trees."""

from __future__ import annotations

import ast
import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .refusals import refusal
from .standins import Direction
from .types import ScalarType, TensorType


class Kind(enum.Enum):
    """Where a function runs."""

    INCORE = "InCore"
    ORCHESTRATION = "Orchestration"
    HOST = "HOST Orchestrator"
    INLINE = "Inline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter as annotated. For a tensor, `direction` is In, Out or InOut."""

    name: str
    type: TensorType | ScalarType
    direction: Direction
    line: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Function:
    """One decorated function, read from its file but not interpreted.

    `closure` holds what its body may name beside its own names; `position` is its place
    in its class, or None for a function that stands alone.
    """

    name: str
    kind: Kind
    file: str
    line: int
    parameters: tuple[Parameter, ...]
    body: tuple[ast.stmt, ...] = field(repr=False)
    closure: Mapping[str, Any] = field(repr=False)
    declares_result: bool = False
    position: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Program:
    """One program of a file: what `trace_program` takes.

    `functions` are in the order of their definition. `source` is the path as given.
    """

    name: str
    source: str
    line: int
    functions: tuple[Function, ...]

    @property
    def host(self) -> Function:
        """The function that is called from outside.

        Raises CompileError AR703 where there is none, or more than one.
        """
        hosts = [one for one in self.functions if one.kind is Kind.HOST]
        if len(hosts) != 1:
            raise refusal(
                self.source,
                self.line,
                f"program {self.name} has {len(hosts)} HOST orchestrators, wanted 1",
                help="give one function `level=pl.Level.HOST, "
                "role=pl.Role.Orchestrator`",
            )
        return hosts[0]

    @property
    def scalars(self) -> tuple[str, ...]:
        """Names of the scalars that every call passes, in order."""
        return tuple(
            one.name for one in self.host.parameters if isinstance(one.type, ScalarType)
        )

    def find(self, name: str) -> Function | None:
        """The function called `name`."""
        return next((one for one in self.functions if one.name == name), None)
