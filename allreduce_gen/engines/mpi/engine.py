"""A run of a trace over MPI: started here, or part of a job that mpiexec started."""

from __future__ import annotations

import time
from collections.abc import Mapping

from allreduce_gen.diagnostics import Diagnostic, Note, codes, diagnose
from allreduce_gen.engines.base import (
    DEFAULT_OPTIONS,
    Array,
    Bytes,
    RunOptions,
    RunResult,
)
from allreduce_gen.engines.simulator.allocate import (
    collect,
    element_types,
    host_memory,
    read_inputs,
)
from allreduce_gen.engines.simulator.memory import Memory
from allreduce_gen.engines.simulator.run import prepare
from allreduce_gen.errors import EngineUnavailableError
from allreduce_gen.ir.trace import AgentTrace, Trace

from .available import joined_rank, missing_part
from .hosted import assemble
from .launch import launch
from .work import PeerFailedError, RankJob, RankResult


def run_mpi(
    trace: Trace,
    inputs: Mapping[str, Array],
    options: RunOptions = DEFAULT_OPTIONS,
    /,
) -> RunResult:
    """Run `trace` on `inputs`, arrays of [ranks, elements] by name, a process a rank.

    Under mpiexec this process is one rank, every rank calls this with the same
    arguments, and gets all outputs. Else mpiexec is started on this machine.

    Raises EngineUnavailableError (AR701) where mpi4py or mpiexec is missing, or mpiexec
    started another number of ranks; ExecutionError for AR801, AR803, AR804 and what
    `simulate` refuses before it starts. Under mpiexec an OneRankFailedError may be
    raised on one rank alone.
    """
    missing = missing_part()
    if missing is not None:
        raise EngineUnavailableError([missing])
    agents = prepare(trace)
    dtypes = element_types(one.events for one in agents)
    given = read_inputs(trace, inputs, dtypes)
    run = _launch if joined_rank() is None else _run_joined
    results = run(trace, agents, given, options)
    pieces = (piece for one in results for piece in one.pieces)
    whole = assemble(host_memory(trace, given), pieces)
    memory = Memory({(name, None): content for name, content in whole.items()})
    return RunResult(
        outputs=collect(trace, memory, dtypes),
        counters=tuple(one.counters for one in results),
    )


def _launch(
    trace: Trace,
    agents: list[AgentTrace],
    given: Mapping[str, Bytes],
    options: RunOptions,
) -> list[RankResult]:
    windows = (one for one in trace.buffers if one.is_window)
    return launch(trace.num_ranks, agents, windows, given, timeout=options.timeout)


def _run_joined(
    trace: Trace,
    agents: list[AgentTrace],
    given: Mapping[str, Bytes],
    options: RunOptions,
) -> list[RankResult]:
    from mpi4py import MPI

    from .rank import run_rank

    comm = MPI.COMM_WORLD
    if comm.size != trace.num_ranks:
        raise EngineUnavailableError([_wrong_size(comm.size, trace.num_ranks)])
    tell_peers(())
    job = RankJob(
        agents=tuple(one.agent for one in agents),
        lookup=lambda at: agents[at].events,
        windows=tuple(one for one in trace.buffers if one.is_window),
        inputs=given,
    )
    timeout = options.timeout
    deadline = None if timeout is None else time.monotonic() + timeout
    results: list[RankResult] = comm.allgather(run_rank(comm, job, deadline=deadline))
    return results


def tell_peers(findings: tuple[Diagnostic, ...]) -> None:
    """Tell the other ranks of the job what went wrong here; () where nothing did.

    Every rank calls this once before it runs, or with its findings when it cannot.
    Raises PeerFailedError with another rank's findings where this one has none.
    """
    from mpi4py import MPI

    everybody: list[tuple[Diagnostic, ...]] = MPI.COMM_WORLD.allgather(findings)
    if findings:
        return
    for rank, found in enumerate(everybody):
        if found:
            note = Note(label="where", text=f"rank {rank} could not start")
            first = found[0]
            raise PeerFailedError(
                [
                    diagnose(
                        first.code,
                        first.message,
                        help=first.help,
                        location=first.location,
                        notes=(*first.notes, note),
                    )
                ]
            )


def end_job(status: int) -> None:
    """End every rank of the job, this one too, with exit code `status`."""
    from mpi4py import MPI

    MPI.COMM_WORLD.Abort(status)


def _wrong_size(started: int, num_ranks: int) -> Diagnostic:
    return diagnose(
        codes.AR701,
        f"the kernel has {num_ranks} ranks, but mpiexec started {started} processes",
        help=f"mpiexec -n {num_ranks} allreduce-gen run ... --engine mpi",
    )
