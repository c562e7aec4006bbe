"""Starts mpiexec for a run, waits for it, and leaves nothing of it behind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from allreduce_gen.diagnostics import Diagnostic, Note, codes, diagnose
from allreduce_gen.engines.base import Bytes
from allreduce_gen.engines.processes import end_session, kill, remove
from allreduce_gen.errors import EngineUnavailableError, ExecutionError
from allreduce_gen.ir.memory import Buffer
from allreduce_gen.ir.trace import AgentTrace

from .available import find_mpiexec
from .job import (
    RankStart,
    ended_ranks,
    read_failures,
    read_results,
    read_starts,
    write_job,
)
from .work import RankResult

_PACKAGE_ROOT = str(Path(__file__).parents[3])
_GRACE = 5.0  # seconds that mpiexec has to end its ranks before they are killed

# Open MPI asks for leave to start more ranks than cores, and to be started by root.
LEAVE = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


def launch(
    num_ranks: int,
    agents: Sequence[AgentTrace],
    windows: Iterable[Buffer],
    inputs: Mapping[str, Bytes],
    *,
    timeout: float | None,
) -> list[RankResult]:
    """Run `agents` in `num_ranks` processes on this machine, and return their results.

    Raises ExecutionError: AR801 where all ranks are blocked, AR803 after `timeout`
    seconds, AR804 where a process ends too early.
    """
    with tempfile.TemporaryDirectory(prefix="allreduce-gen-") as name:
        folder = Path(name)
        write_job(folder, agents, windows, inputs)
        with (folder / "output.txt").open("wb") as output:
            process = _start(num_ranks, folder, output.fileno())
            try:
                status = process.wait(timeout)
            except subprocess.TimeoutExpired as error:
                late = sorted(set(range(num_ranks)) - ended_ranks(folder))
                raise ExecutionError([_too_late(timeout, late)]) from error
            finally:
                _end(process, folder)
        if status == 0:
            return list(read_results(folder).values())
        raise _failure(folder, status, num_ranks)


def _start(num_ranks: int, folder: Path, output: int) -> subprocess.Popen[bytes]:
    """mpiexec in a session of its own, so that all of it can be ended at once."""
    mpiexec = find_mpiexec()
    assert mpiexec is not None, "asked before a job is written"
    paths = [_PACKAGE_ROOT, os.environ.get("PYTHONPATH", "")]
    return subprocess.Popen(
        [mpiexec, "-n", str(num_ranks), sys.executable, "-m", _CHILD, str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
        env=os.environ
        | LEAVE
        | {
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "OMP_NUM_THREADS": "1",
            "TMPDIR": str(folder),  # where Open MPI keeps the files of a session
        },
    )


_CHILD = "allreduce_gen.engines.mpi.child"


def _end(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Make sure that neither mpiexec nor a rank nor shared memory is left."""
    end_session(process, _GRACE)
    for start in read_starts(folder).values():
        if _is_of(start.pid, folder):
            kill(start.pid)
        remove(start.shared)


def _is_of(pid: int, folder: Path) -> bool:
    """Whether process `pid` is a rank of the job in `folder`, and not a later one."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return os.fsencode(str(folder)) in command


def _failure(
    folder: Path, status: int, num_ranks: int
) -> ExecutionError | EngineUnavailableError:
    for findings in read_failures(folder).values():
        unavailable = any(one.code is codes.AR701 for one in findings)
        return (EngineUnavailableError if unavailable else ExecutionError)(findings)
    output = (folder / "output.txt").read_text(encoding="utf-8", errors="replace")
    starts = read_starts(folder)
    return ExecutionError([_lost(_find_lost(output, starts), status, output)])


def _find_lost(output: str, starts: Mapping[int, RankStart]) -> int | None:
    """The rank that mpiexec says has ended: Open MPI says which, MPICH its process."""
    named = re.search(r"process rank (\d+)", output)
    if named:
        return int(named[1])
    process = re.search(r"PID (\d+) RUNNING AT", output)
    by_pid = {start.pid: rank for rank, start in starts.items()}
    return by_pid.get(int(process[1])) if process else None


def _lost(rank: int | None, status: int, output: str) -> Diagnostic:
    tail = " / ".join(line.strip() for line in output.splitlines()[-4:] if line.strip())
    return diagnose(
        codes.AR804,
        f"{'a rank' if rank is None else f'rank {rank}'} ended before its work was "
        f"done; mpiexec ended with status {status}",
        help="look for what ended it: a signal, or too little memory",
        notes=(Note(label="mpiexec", text=tail),) if tail else (),
    )


def _too_late(timeout: float | None, late: Sequence[int]) -> Diagnostic:
    ranks = ", ".join(map(str, late))
    return diagnose(
        codes.AR803,
        f"stopped after {timeout:g} s; ranks {ranks} had not ended",
        help="run it on the simulator, which names a deadlock at once",
    )
