"""A program as its decorators describe it: functions, parameters, syntax trees."""

from __future__ import annotations

import ast
import dataclasses
import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .refusals import refusal
from .standins import Direction
from .types import OpenType, ScalarType, StaticType, TensorType


class Kind(enum.Enum):
    """Where a function runs."""

    INCORE = "InCore"
    ORCHESTRATION = "Orchestration"
    HOST = "HOST Orchestrator"
    INLINE = "Inline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter as annotated. For a tensor, `direction` is In, Out or InOut.

    `is_number` says that pypto knows the scalar that is passed: it is inlined.
    """

    name: str
    type: TensorType | ScalarType | OpenType
    direction: Direction
    line: int
    is_number: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Function:
    """One decorated function, read from its file but not interpreted.

    `closure` holds what its body may name beside its own names; `position` is its place
    in its class, or None for a function that stands alone, as a jit function does.
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
    is_jit: bool = False


def bind_types(function: Function, given: Sequence[StaticType | None]) -> Function:
    """`function` with the types of its arguments, where they count.

    A jit function takes them from its caller, whatever static shape it declares; any
    other does where it declares none. Raises CompileError AR703 where a parameter is
    then left without a shape.
    """
    types = [*given, *(None for _ in function.parameters)]
    pairs = zip(function.parameters, types, strict=False)
    bound = tuple(_bind_type(function, one, type_) for one, type_ in pairs)
    if bound == function.parameters:
        return function
    return dataclasses.replace(function, parameters=bound)


def bind_numbers(function: Function, numbers: Sequence[bool]) -> Function:
    """An Inline `function` with what pypto knows of its arguments."""
    if function.kind is not Kind.INLINE or not any(numbers):
        return function
    pairs = zip(function.parameters, numbers, strict=False)
    bound = tuple(dataclasses.replace(one, is_number=known) for one, known in pairs)
    return dataclasses.replace(function, parameters=bound)


def _bind_type(
    function: Function, parameter: Parameter, given: StaticType | None
) -> Parameter:
    declared = parameter.type
    if isinstance(declared, ScalarType):
        return parameter
    if isinstance(declared, TensorType) and not (
        function.is_jit and declared.is_static
    ):
        return parameter
    if isinstance(given, TensorType):
        type_ = dataclasses.replace(given, is_window=declared.is_window)
        return dataclasses.replace(parameter, type=type_)
    if isinstance(declared, TensorType):
        return parameter
    raise refusal(
        function.file,
        parameter.line,
        f"{parameter.name} of {function.name} has no shape until it gets a tensor",
        help="annotate it: `pl.Tensor[[rows, columns], dtype]`, or pass a tensor",
    )


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
