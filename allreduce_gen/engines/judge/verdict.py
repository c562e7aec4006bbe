"""What the judge says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from allreduce_gen.ir.trace import Agent

EventId: TypeAlias = tuple[Agent, int]
"""An agent, and the number of one of its plain events."""

Order: TypeAlias = tuple[int, ...]
"""An execution: the agent, by its number, that passes its next signal, step by step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """Two events that conflict and are both next after `order`."""

    first: EventId
    second: EventId
    order: Order = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlock:
    """The waits before which agents stand for good after `order`."""

    blocked: tuple[EventId, ...]
    order: Order = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What some execution of a trace does wrong; `num_states` were looked at.

    `undecided` says why the search is not complete, and is empty where it is.
    """

    races: tuple[Race, ...]
    deadlock: Deadlock | None
    num_states: int
    undecided: tuple[str, ...]

    @property
    def is_sound(self) -> bool:
        """Whether every execution is proved free of deadlock and race."""
        return not (self.races or self.deadlock or self.undecided)
