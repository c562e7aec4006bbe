"""Ends a session of processes and takes away the shared memory that it leaves."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterable
from pathlib import Path

_PROC, _SHARED = Path("/proc"), "/dev/shm/"


def end_session(process: subprocess.Popen[bytes], grace: float) -> None:
    """End `process`, the leader of a session, and every process of that session.

    It has `grace` seconds to end the others itself; what is left then is killed. Shared
    memory that they map by name is removed.
    """
    shared = {
        path for pid in _members(process.pid) for path in named_shared_memory(pid)
    }
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace)
    for pid in _members(process.pid):
        kill(pid)
    process.wait()
    remove(shared)


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def remove(paths: Iterable[str]) -> None:
    """Take away the files at `paths` that still exist."""
    for path in paths:
        Path(path).unlink(missing_ok=True)


def named_shared_memory(pid: int | str) -> tuple[str, ...]:
    """The files of /dev/shm that process `pid`, or "self", maps and that exist."""
    lines = _read(_PROC / str(pid) / "maps").splitlines()
    paths = {line.split(maxsplit=5)[-1] for line in lines if _SHARED in line}
    return tuple(sorted(one for one in paths if not one.endswith(" (deleted)")))


def _members(session: int) -> list[int]:
    """The processes of `session` that have not ended; none where there is no /proc."""
    stats = (_read(path / "stat") for path in _PROC.glob("[0-9]*"))
    # pid (command) state parent group session ...; the command may hold spaces
    split = (stat.rpartition(")") for stat in stats if stat)
    return [
        int(head.split()[0])
        for head, _, rest in split
        if rest.split()[3] == str(session) and rest.split()[0] != "Z"
    ]


def _read(path: Path) -> str:
    """A file of /proc; empty where its process has ended."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
