"""What to say when every agent that has not ended is blocked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from allreduce_gen.diagnostics import Diagnostic, Note, codes, diagnose
from allreduce_gen.ir.events import Wait, WaitCmp
from allreduce_gen.ir.memory import format_region
from allreduce_gen.ir.trace import Agent, locate

_SIGNS = {WaitCmp.EQ: "==", WaitCmp.GE: ">="}


class Blocked(Protocol):
    """An agent that stands before a wait."""

    @property
    def agent(self) -> Agent: ...

    def blocked_at(self) -> tuple[int, Wait, int]:
        """The wait's place among the agent's events, the wait, what its slot holds."""
        ...


def report_deadlock(blocked: Sequence[Blocked], num_agents: int) -> Diagnostic:
    """One finding (AR801) that names each blocked agent, its slot and what it sees."""
    machines = sorted(blocked, key=lambda one: (one.agent.rank, one.agent.block))
    notes = tuple(_note(machine) for machine in machines)
    kind = "ranks" if all(one.agent.block == 0 for one in machines) else "blocks"
    ended = num_agents - len(blocked)
    return diagnose(
        codes.AR801,
        f"{len(blocked)} of {num_agents} {kind} are blocked"
        + (f", the other {ended} have ended" if ended else ""),
        help="run `allreduce-gen check`: it names the notify that is missing or late",
        location=notes[0].location,
        notes=notes,
    )


def _note(machine: Blocked) -> Note:
    index, wait, seen = machine.blocked_at()
    return Note(
        label=str(machine.agent),
        text=f"{format_region(wait.slot)} is {seen}, wanted {_wanted(wait)}",
        location=locate(machine.agent, index, wait),
    )


def _wanted(wait: Wait) -> str:
    return f"{_SIGNS[wait.cmp]} {wait.expected}"
