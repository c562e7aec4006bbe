"""Numbers that a kernel names at its top."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """A number that the kernel names: a module constant, with its meaning beside it."""

    name: str
    value: int
    meaning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """A real number that the kernel names: a module constant."""

    name: str
    value: float
    meaning: str = ""
