"""How a command ends early: exit codes, a time limit, and one rank's part of a job."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from allreduce_gen.diagnostics import Diagnostic, codes, diagnose
from allreduce_gen.engines.mpi import (
    OneRankFailedError,
    PeerFailedError,
    end_job,
    has_mpi4py,
    joined_rank,
    tell_peers,
)
from allreduce_gen.errors import (
    AllReduceGenError,
    CompileError,
    EngineUnavailableError,
    ExecutionError,
)

from .output import print_diagnostics

DONE, REFUSED, USAGE, UNAVAILABLE, OUR_FAULT, INTERRUPTED = 0, 1, 2, 3, 70, 130

_Done = TypeVar("_Done")


def exit_code(error: AllReduceGenError) -> int:
    """3 where an engine is not available or would not compile, else 1."""
    if isinstance(error, EngineUnavailableError):
        return UNAVAILABLE
    if isinstance(error, CompileError):
        rejected = any(one.code is codes.AR702 for one in error.diagnostics)
        return UNAVAILABLE if rejected else REFUSED
    return REFUSED


class _OutOfTime(BaseException):
    """The limit is reached. No `except Exception`, ours or a script's, may eat it."""


def _stopped(seconds: float) -> Diagnostic:
    return diagnose(
        codes.AR803,
        f"stopped after {seconds:g} s, before the run had ended",
        help="give a longer --timeout, or run a smaller size",
    )


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise ExecutionError (AR803) in what takes longer than `seconds`.

    For the main thread only: it is the alarm of the process.
    """
    if seconds is None:
        yield
        return

    def stop(*_: Any) -> None:
        raise _OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _OutOfTime:
        raise ExecutionError([_stopped(seconds)]) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def as_rank(work: Callable[[], _Done]) -> _Done | None:
    """`work` as one rank of the job that mpiexec started; None on all but rank 0.

    What goes wrong on every rank is raised on rank 0, which prints it. A fault that one
    rank alone finds while its peers still run is printed there and ends the job.
    """
    try:
        done = work()
    except OneRankFailedError as error:
        print_diagnostics(error.diagnostics)
        end_job(exit_code(error))
    except AllReduceGenError as error:
        if not isinstance(error, PeerFailedError) and has_mpi4py():
            tell_peers(error.diagnostics)
        if joined_rank() == 0:
            raise
    else:
        return done if joined_rank() == 0 else None
    return None
