"""A whole run of a trace."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from allreduce_gen.diagnostics import codes, diagnose
from allreduce_gen.engines.base import (
    DEFAULT_OPTIONS,
    Array,
    Bytes,
    Counters,
    RunOptions,
    RunResult,
)
from allreduce_gen.errors import CompileError, ExecutionError
from allreduce_gen.ir.trace import AgentTrace, Trace, locate
from allreduce_gen.ir.widen import MAX_EVENTS, TooManyEventsError, flatten

from .access import find_faults
from .allocate import Windows, allocate, collect, element_types, host_memory
from .deadlock import report_deadlock
from .machine import Machine, count
from .memory import Memory
from .scheduler import make_pick, run_all
from .store_queue import StoreQueue


def simulate(
    trace: Trace,
    inputs: Mapping[str, Array],
    options: RunOptions = DEFAULT_OPTIONS,
    /,
) -> RunResult:
    """Run `trace` on `inputs`, arrays of [ranks, elements] by buffer name.

    The ranks take turns as `options` say. Windows start as zero; outputs and tiles
    start as poison (elements.poison), so that a value nobody wrote shows.

    Raises ExecutionError for accesses outside memory (AR404), for inputs or tiles of a
    wrong type (AR505), and where all ranks are blocked (AR801); CompileError (AR703)
    for a cast mode that is not known and for loops too long to run.
    """
    agents = prepare(trace)
    programs = [agent.events for agent in agents]
    dtypes = element_types(programs)
    memory = allocate(trace, programs, inputs, dtypes)
    _run(agents, memory, trace.num_ranks, options)
    return RunResult(
        outputs=collect(trace, memory, dtypes),
        counters=_counters(agents, trace.num_ranks),
    )


def simulate_in_place(
    trace: Trace,
    host: Mapping[str, Bytes],
    windows: Windows,
    options: RunOptions = DEFAULT_OPTIONS,
    /,
) -> None:
    """Run `trace` on memory that is the caller's, and is written where it lies.

    `host` has the bytes of host buffers by name; those that it lacks are poison.
    `windows` are as an earlier run of the same program left them, or fresh from
    `make_windows`. Raises as `simulate` does.
    """
    instances = dict(windows)
    instances |= {(name, None): data for name, data in host_memory(trace, host).items()}
    memory = Memory(instances)
    _run(prepare(trace), memory, trace.num_ranks, options)


def _run(
    agents: Sequence[AgentTrace], memory: Memory, num_ranks: int, options: RunOptions
) -> None:
    """Let all agents run to their ends. Raises ExecutionError (AR801)."""
    holds_back = options.schedule.holds_back_stores
    machines = [
        Machine(one.agent, one.events, StoreQueue(memory, holds_back=holds_back))
        for one in agents
    ]
    with np.errstate(all="ignore"):  # infinities and NaN are results, as on the device
        blocked = run_all(machines, memory, make_pick(options, num_ranks))
    if blocked:
        raise ExecutionError([report_deadlock(blocked, len(machines))])


def prepare(trace: Trace) -> list[AgentTrace]:
    """The agents with plain events, none of which can do what no run may do.

    Raises CompileError and ExecutionError as `simulate` does before it starts.
    """
    agents = [_flatten(agent) for agent in trace.agents]
    _refuse_faults(agents, trace.num_ranks)
    return agents


def count_ranks(trace: Trace) -> tuple[Counters, ...]:
    """What each rank does in a whole run of `trace`, which raises as `prepare` does."""
    return _counters(prepare(trace), trace.num_ranks)


def _flatten(agent: AgentTrace) -> AgentTrace:
    try:
        return dataclasses.replace(agent, events=flatten(agent.events))
    except TooManyEventsError as error:
        finding = diagnose(
            codes.AR703,
            f"{agent.agent} would run more than {MAX_EVENTS} events one by one",
            help="let the tiles of a loop lie side by side, or use larger tiles",
            location=locate(agent.agent, 0, agent.events[0]),
        )
        raise CompileError([finding]) from error


def _refuse_faults(agents: Sequence[AgentTrace], num_ranks: int) -> None:
    faults = [fault for one in agents for fault in find_faults(one, num_ranks)]
    if faults:
        raise ExecutionError(faults)


def _counters(agents: Sequence[AgentTrace], num_ranks: int) -> tuple[Counters, ...]:
    """One a rank; the blocks of a rank count together."""
    return tuple(
        count(
            tuple(
                event
                for one in agents
                if one.agent.rank == rank
                for event in one.events
            ),
            rank,
        )
        for rank in range(num_ranks)
    )
