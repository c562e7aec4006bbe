"""A program and a number of ranks to a trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from allreduce_gen.diagnostics import Diagnostic
from allreduce_gen.ir.trace import AgentTrace, Trace

from .hosting import Shapes, bind_host, count_ranks
from .machine import Frame, Machine
from .program import Function, Program
from .refusals import refusal
from .resolver import read_routine


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceResult:
    """A trace, and what was found in the source beside it.

    That is AR308, AR312, AR706 and AR707. `parts` names the functions that the host
    dispatches, pypto's own among them.
    """

    trace: Trace
    diagnostics: tuple[Diagnostic, ...]
    parts: tuple[str, ...] = ()


def trace_program(
    program: Program,
    *,
    num_ranks: int | None = None,
    platform: str = "a2a3sim",
    scalars: Mapping[str, int | float] | None = None,
    shapes: Shapes | None = None,
) -> TraceResult:
    """What all ranks do in one call of `program`.

    `num_ranks` is what the host's tensors say unless given; `scalars` are the values
    of its scalar parameters, `shapes` those of the tensors that a caller passes.
    Nothing of the program is executed.

    Raises CompileError AR703 for what pypto's frontend refuses or this one lacks.
    """
    host = program.host
    known = shapes or {}
    ranks = count_ranks(host, num_ranks, known)
    values, buffers = bind_host(host, ranks, scalars or {}, known)
    routine = read_routine(program, host, {})
    machine = _run(Machine(ranks), routine.run, values)
    if machine.has_groups:  # peers and ranks then count within a group: run it again
        machine = _run(Machine(ranks, groups=machine.groups), routine.run, values)
    _refuse_idle_host(host, machine)
    trace = Trace(
        num_ranks=ranks,
        platform=platform,
        buffers=(*buffers, *machine.scratch.values(), *machine.windows.values()),
        agents=tuple(
            AgentTrace(agent=one.agent, events=tuple(one.events))
            for _, one in sorted(_all_agents(machine).items())
        ),
    )
    return TraceResult(
        trace=trace, diagnostics=machine.findings, parts=tuple(machine.parts)
    )


def read_program(program: Program) -> None:
    """Read `program` without tracing it. Raises CompileError AR703."""
    read_routine(program, program.host, {})


def _run(machine: Machine, run: Any, values: dict[Any, Any]) -> Machine:
    run(Frame(machine, dict(values)))
    return machine


def _refuse_idle_host(host: Function, machine: Machine) -> None:
    """Refuse a host that runs no kernel, or gives a window buffer to none."""
    if not machine.agents:
        raise refusal(
            host.file,
            host.line,
            f"{host.name} dispatches no kernel",
            help="call an Orchestration function with `device=r` for each rank",
        )
    for name, line in machine.allocated.items():
        if name not in machine.windows:
            raise refusal(
                host.file,
                line,
                f"the window buffer {name} is passed to no kernel",
                help="pass a window of it, or remove it",
            )


def _all_agents(machine: Machine) -> dict[tuple[int, int], Any]:
    """The agents that ran, and one that does nothing for each idle rank."""
    for rank in range(machine.num_ranks):
        machine.recorder(rank, 0)
    return machine.agents
