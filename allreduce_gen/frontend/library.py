"""Programs made of what the decorators hand over while a file is loaded."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from allreduce_gen.spec import DType

from .annotations import read_function
from .program import Function, Kind, Program, bind_types
from .refusals import refusal
from .source import SourceFiles
from .standins import Decorated
from .types import TensorType


class Library:
    """Reads decorated functions; `file` is the one being loaded."""

    def __init__(self, file: str, sources: SourceFiles) -> None:
        self._file = file
        self._sources = sources

    def make_program(self, cls: type, closure: dict[str, Any]) -> Program:
        """`@pl.program` on `cls`, whose functions may use the names of `closure`."""
        members = [one for one in vars(cls).values() if isinstance(one, Decorated)]
        methods = {
            one.name: read_function(one, self._sources, closure, position)
            for position, one in enumerate(members)
        }
        lines = [one.function.__code__.co_firstlineno for one in members]
        functions = self._with_callees(methods)
        return Program(
            name=cls.__name__,
            source=functions[0].file if functions else self._file,
            line=min(lines, default=1),
            functions=functions,
        )

    def programs_in(self, names: Mapping[str, Any]) -> tuple[Program, ...]:
        """Programs among a module's names: classes, and jit functions of the host."""
        found: dict[int, Program] = {}
        for value in names.values():
            if isinstance(value, Program):
                found[id(value)] = value
            elif isinstance(value, Decorated) and value.options.get("jit"):
                function = self._read(value)
                if function.kind is Kind.HOST:
                    found[id(value)] = self._jit_program(function)
        return tuple(found.values())

    def jit_program(
        self,
        decorated: Decorated,
        shapes: Mapping[str, tuple[int, ...] | None],
        dtypes: Mapping[str, DType | None],
    ) -> Program:
        """The program of a jit function for tensors of these shapes and types, by name.

        Raises CompileError AR703 where there are too few, or `decorated` is no host
        function.
        """
        host = self._read(decorated)
        if host.kind is not Kind.HOST:
            raise refusal(
                host.file,
                host.line,
                f"{host.name} is called from outside, but is no host function",
                help="call a `@pl.jit.host` function, which dispatches to ranks",
            )
        names = [one.name for one in host.parameters]
        types = [_tensor(shapes.get(name), dtypes.get(name)) for name in names]
        return self._jit_program(bind_types(host, types))

    def _read(self, decorated: Decorated) -> Function:
        return read_function(decorated, self._sources, decorated.closure())

    def _jit_program(self, host: Function) -> Program:
        return Program(
            name=host.name,
            source=host.file,
            line=host.line,
            functions=self._with_callees({host.name: host}),
        )

    def _with_callees(self, functions: dict[str, Function]) -> tuple[Function, ...]:
        """`functions`, and the ones beside them that they call, directly or not."""
        known = dict(functions)
        waiting = list(known.values())
        while waiting:
            caller = waiting.pop()
            for name in _names_called(caller):
                value = caller.closure.get(name)
                if isinstance(value, Decorated) and value.name not in known:
                    known[value.name] = self._read(value)
                    waiting.append(known[value.name])
        return tuple(known.values())


def _tensor(shape: tuple[int, ...] | None, dtype: DType | None) -> TensorType | None:
    return None if shape is None or dtype is None else TensorType(shape, dtype)


def _names_called(function: Function) -> list[str]:
    """Plain names that `function` calls, in the order of their first call."""
    names = (
        node.func.id
        for statement in function.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    )
    return list(dict.fromkeys(names))
