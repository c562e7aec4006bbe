"""A program and a number of ranks to a trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from allreduce_gen.diagnostics import Diagnostic
from allreduce_gen.ir.memory import Buffer, BufferKind, View
from allreduce_gen.ir.trace import AgentTrace, Trace

from .machine import Frame, Machine
from .parameters import bind_view
from .program import Function, Parameter, Program
from .refusals import refusal
from .resolver import read_routine
from .standins import Direction
from .types import ScalarType, TensorType

_KINDS = {
    Direction.IN: BufferKind.INPUT,
    Direction.OUT: BufferKind.OUTPUT,
    Direction.INOUT: BufferKind.INOUT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceResult:
    """A trace, and what was found in the source beside it (AR308, AR706, AR707)."""

    trace: Trace
    diagnostics: tuple[Diagnostic, ...]


def trace_program(
    program: Program,
    *,
    num_ranks: int | None = None,
    platform: str = "a2a3sim",
    scalars: Mapping[str, int] | None = None,
) -> TraceResult:
    """What all ranks do in one call of `program`.

    `num_ranks` is the leading dimension of the host's tensors unless given; `scalars`
    are the values of its scalar parameters. Nothing of the program is executed.

    Raises CompileError AR703 for what pypto's frontend refuses or this one lacks.
    """
    host = program.host
    ranks = _num_ranks(host, num_ranks)
    machine = Machine(ranks)
    values, buffers = _bind_host(host, ranks, scalars or {})
    read_routine(program, host, {}).run(Frame(machine, values))
    _refuse_idle_host(host, machine)
    trace = Trace(
        num_ranks=ranks,
        platform=platform,
        buffers=(*buffers, *machine.windows.values()),
        agents=tuple(
            AgentTrace(agent=one.agent, events=tuple(one.events))
            for _, one in sorted(_all_agents(machine).items())
        ),
    )
    return TraceResult(trace=trace, diagnostics=machine.findings)


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


def _num_ranks(host: Function, asked: int | None) -> int:
    """How many ranks run `host`: as asked, and as its tensors say."""
    leading = [
        (one, one.type.shape[0])
        for one in host.parameters
        if isinstance(one.type, TensorType) and isinstance(one.type.shape[0], int)
    ]
    if asked is None and not leading:
        raise refusal(
            host.file,
            host.line,
            f"the tensors of {host.name} do not say how many ranks there are",
            help="give the number of ranks (--ranks)",
        )
    ranks = asked if asked is not None else leading[0][1]
    assert isinstance(ranks, int)
    for parameter, extent in leading:
        if extent != ranks:
            raise refusal(
                host.file,
                parameter.line,
                f"{parameter.name} has {extent} entries for {ranks} ranks",
                help=f"run the program with {extent} ranks: pypto itself would give "
                "wrong results, not an error",
            )
    return ranks


def _bind_host(
    host: Function, ranks: int, scalars: Mapping[str, int]
) -> tuple[dict[Any, Any], tuple[Buffer, ...]]:
    """The host's parameters as values, and the buffers of its tensors."""
    values: dict[Any, Any] = {}
    buffers = []
    for parameter in host.parameters:
        if isinstance(parameter.type, ScalarType):
            values[parameter.name] = _scalar(host, parameter, scalars)
            continue
        view = _host_view(host, parameter, parameter.type, ranks, values)
        buffers.append(view.buffer)
        values[parameter.name] = view
    return values, tuple(buffers)


def _scalar(host: Function, parameter: Parameter, scalars: Mapping[str, int]) -> int:
    if parameter.name not in scalars:
        raise refusal(
            host.file,
            parameter.line,
            f"{host.name} takes the scalar {parameter.name}, which has no value",
            help=f"give {parameter.name} a value, such as 1",
        )
    return scalars[parameter.name]


def _host_view(
    host: Function,
    parameter: Parameter,
    type_: TensorType,
    ranks: int,
    values: dict[Any, Any],
) -> View:
    """A tensor of the host; its leading dimension, if dynamic, counts the ranks."""
    shape = tuple(
        _extent(host, parameter, position, ranks)
        for position in range(len(type_.shape))
    )
    nbytes = prod(shape) * type_.dtype.nbytes
    buffer = Buffer(
        name=parameter.name, kind=_KINDS[parameter.direction], nbytes=nbytes
    )
    whole = View(name=parameter.name, buffer=buffer, shape=shape, dtype=type_.dtype)
    return bind_view(parameter.name, type_, whole, values)


def _extent(host: Function, parameter: Parameter, position: int, ranks: int) -> int:
    assert isinstance(parameter.type, TensorType)
    dim = parameter.type.shape[position]
    if isinstance(dim, int):
        return dim
    if position == 0:
        return ranks
    raise refusal(
        host.file,
        parameter.line,
        f"dimension {position} of {parameter.name}, {dim.name}, is not known",
        help="make it a constant",
    )
