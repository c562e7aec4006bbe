"""The decorators that make programs: `pl.program`, `pl.function`, `pl.jit`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from .enums import FunctionType, Level, Role
from .objects import Decorated

MakeProgram = Callable[[type, dict[str, Any]], Any]


def names_of(frame: FrameType) -> dict[str, Any]:
    """What code in `frame` can name: its globals and, above them, its locals."""
    return {**frame.f_globals, **frame.f_locals}


def function(target: Any = None, **options: Any) -> Any:
    """`@pl.function`, bare or with its options."""
    frame = sys._getframe(1)

    def decorate(target: Callable[..., Any]) -> Decorated:
        return Decorated(target, options, lambda: names_of(frame))

    return decorate if target is None else decorate(target)


def inline(target: Any = None, **options: Any) -> Any:
    """`@pl.inline`: a function that is read in place where it is called."""
    frame = sys._getframe(1)

    def decorate(target: Callable[..., Any]) -> Decorated:
        merged = {**options, "type": FunctionType.Inline}
        return Decorated(target, merged, lambda: names_of(frame))

    return decorate if target is None else decorate(target)


def program_decorator(make_program: MakeProgram) -> Callable[..., Any]:
    """`@pl.program`: what it returns is made by `make_program`."""

    def program(target: Any = None, **_: Any) -> Any:
        frame = sys._getframe(1)

        def decorate(target: type) -> Any:
            return make_program(target, names_of(frame))

        return decorate if target is None else decorate(target)

    return program


class Jit:
    """`@pl.jit` and, by attribute, its kin. A jit function is read when it is used."""

    def __init__(self, runtime: Any = None, kind: str = "") -> None:
        self._runtime = runtime
        self._kind = kind

    def __getattr__(self, kind: str) -> Jit:
        if self._kind or kind not in _JIT_KINDS:
            raise AttributeError(f"pl.jit has no {kind}")
        return Jit(self._runtime, kind)

    def __call__(self, target: Any = None, **options: Any) -> Any:
        frame = sys._getframe(1)
        merged = {**options, **_JIT_KINDS[self._kind], "jit": True}

        def decorate(target: Callable[..., Any]) -> Decorated:
            return Decorated(target, merged, lambda: names_of(frame), self._runtime)

        return decorate if target is None else decorate(target)


_JIT_KINDS: dict[str, dict[str, Any]] = {
    "": {"type": FunctionType.Orchestration},
    "incore": {"type": FunctionType.InCore},
    "inline": {"type": FunctionType.Inline},
    "opaque": {"type": FunctionType.Opaque},
    "host": {"level": Level.HOST, "role": Role.Orchestrator},
}
