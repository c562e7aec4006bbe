"""What an exhaustive search has found, where the checks alone cannot decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from .program import Point

Schedule: TypeAlias = tuple[int, ...]
"""An execution: the agent, by its number, that passes its next notify or wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """Two conflicting accesses that are both next after `schedule`."""

    left: Point
    right: Point
    schedule: Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The races of all executions, and the waits that one of them blocks at for good.

    `blocked` is empty where no execution deadlocks; else `schedule` leads to it.
    """

    races: tuple[Meeting, ...]
    blocked: tuple[Point, ...]
    schedule: Schedule
