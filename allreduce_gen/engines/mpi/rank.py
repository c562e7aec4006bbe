"""One rank's part of a run: its agents in turn, until all have ended."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np
from mpi4py import MPI

from allreduce_gen.diagnostics import Diagnostic, codes, diagnose
from allreduce_gen.engines.base import Counters
from allreduce_gen.engines.simulator.deadlock import report_deadlock
from allreduce_gen.engines.simulator.machine import Machine, Status, count
from allreduce_gen.ir.events import Event

from .board import Board, board_buffer
from .hosted import HostMemory
from .port import LOCKS, RemotePort
from .windows import Windows
from .work import OneRankFailedError, RankJob, RankResult

_BURST = 64  # events of one agent before the next agent of the rank has its turn
_SPINS = 100  # looks at the slots before a blocked rank sleeps between looks
_NAP = 1e-3
_PATIENCE = 0.25  # seconds blocked before a rank asks whether all are


def run_rank(
    comm: MPI.Intracomm, job: RankJob, *, deadline: float | None = None
) -> RankResult:
    """Run the agents of rank `comm.rank`; every rank of `comm` has to call this.

    Raises OneRankFailedError: AR801 on one rank where all are blocked, AR803 where a
    wait lasts past `deadline`, a time of the monotonic clock.
    """
    own = [at for at, one in enumerate(job.agents) if one.rank == comm.rank]
    programs = {at: job.lookup(at) for at in own}
    host = HostMemory(tuple(programs.values()), job.inputs)
    windows = Windows(comm, (*job.windows, LOCKS, board_buffer(len(job.agents))))
    port = RemotePort(windows, host)
    machines = {
        at: Machine(job.agents[at], events, port) for at, events in programs.items()
    }
    with np.errstate(all="ignore"):
        _run_all(machines, Board(windows, job.agents, job.lookup), deadline)
    _wait_for_all(comm)
    windows.free()
    return RankResult(
        pieces=tuple(host.pieces()),
        counters=_count(tuple(programs.values()), comm.rank),
    )


def _run_all(
    machines: Mapping[int, Machine], board: Board, deadline: float | None
) -> None:
    running = dict(machines)
    patience = _Patience(board, len(machines), deadline)
    while running:
        moved = False
        for at, machine in tuple(running.items()):
            status = machine.advance(1)
            while status is Status.READY:
                board.clear(at)
                moved = True
                status = machine.advance(_BURST)
            if status is Status.DONE:
                del running[at]
                board.show(at, blocked_at=None)
        patience.after_round(running, moved)


class _Patience:
    """How a rank waits while all its agents are blocked: spin, nap, then ask."""

    def __init__(self, board: Board, num_agents: int, deadline: float | None) -> None:
        self._board = board
        self._deadline = deadline
        self._spins = 0
        self._ask_at = 0.0

    def after_round(self, blocked: Mapping[int, Machine], moved: bool) -> None:
        if moved or not blocked:
            self._spins = 0
            return
        self._spins += 1
        if self._spins <= _SPINS:
            self._ask_at = time.monotonic() + _PATIENCE
            return
        time.sleep(_NAP)
        now = time.monotonic()
        if self._deadline is not None and now > self._deadline:
            raise OneRankFailedError([_too_late(blocked)])
        if now > self._ask_at:
            self._ask(blocked)
            self._ask_at = now + _PATIENCE

    def _ask(self, blocked: Mapping[int, Machine]) -> None:
        for at, machine in blocked.items():
            self._board.show(at, blocked_at=machine.blocked_at()[0])
        standing = self._board.find_deadlock()
        if standing is not None and self._board.claim():
            finding = report_deadlock(standing, self._board.num_agents)
            raise OneRankFailedError([finding])


def _too_late(blocked: Mapping[int, Machine]) -> Diagnostic:
    agents = ", ".join(str(one.agent) for one in blocked.values())
    return diagnose(
        codes.AR803,
        f"stopped at the time limit; {agents} still waited",
        help="run it on the simulator, which names a deadlock at once",
    )


def _wait_for_all(comm: MPI.Intracomm) -> None:
    """Until every rank has come here, and let MPI work on what peers ask meanwhile."""
    request = comm.Ibarrier()
    spins = 0
    while not request.Test():
        spins += 1
        if spins > _SPINS:
            time.sleep(_NAP)


def _count(programs: Sequence[tuple[Event, ...]], rank: int) -> Counters:
    return count(tuple(event for events in programs for event in events), rank)
