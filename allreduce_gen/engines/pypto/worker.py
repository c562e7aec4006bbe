"""The process that pypto works in: started when it is first needed, then kept."""

from __future__ import annotations

import atexit
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, BinaryIO

from allreduce_gen import errors
from allreduce_gen.diagnostics import Diagnostic, Note, codes, diagnose
from allreduce_gen.engines.processes import end_session
from allreduce_gen.errors import EngineError, ExecutionError

from .messages import decode, encode, finding_from_json

_PACKAGE_ROOT = str(Path(__file__).parents[3])
_CHILD = "allreduce_gen.engines.pypto.child"
# pypto's simulator lets a wait go after so many looks, be the signal there or not, and
# then goes on with what it finds. 0 is for ever: `timeout` ends what is blocked.
_SPINS = "PTO_CPU_SIM_TWAIT_MAX_SPINS"
_GRACE = 5.0  # seconds that it has to put away its devices before it is killed


class Worker:
    """A child process, and the folder for its files. It works in `cwd`."""

    def __init__(self, *, builds_here: bool) -> None:
        self._is_closed = False
        self._folder = tempfile.TemporaryDirectory(prefix="allreduce-gen-")
        self.folder = Path(self._folder.name)
        paths = [_PACKAGE_ROOT, os.environ.get("PYTHONPATH", "")]
        environment = {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
        environment[_SPINS] = os.environ.get(_SPINS, "0")
        if not builds_here:
            environment["PYPTO_PROG_BUILD_DIR"] = self._folder.name
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _CHILD],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                env=os.environ | environment,
            )

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def _log(self) -> Path:
        return self.folder / "log.txt"

    def ask(self, request: dict[str, Any], timeout: float | None) -> dict[str, Any]:
        """The answer to `request`; where there is none, the process is ended.

        Raises EngineError: what the child found, AR803 after `timeout` seconds, AR804
        where it ends.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(encode(request))
            self._process.stdin.flush()
            line = _read_line(self._process.stdout, timeout)
        except BrokenPipeError:
            line = b""
        except BaseException:  # also an interrupt: an answer would come too late
            self.close(grace=0)
            raise
        if not line:
            raise ExecutionError([self._lost()])
        answer = decode(line)
        if "findings" in answer:
            kind: type[EngineError] = getattr(errors, answer["error"])
            raise kind(map(finding_from_json, answer["findings"]))
        return answer

    def _lost(self) -> Diagnostic:
        status = self._process.wait()
        tail = self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-3:]
        self.close(grace=0)
        return diagnose(
            codes.AR804,
            f"pypto's process ended with status {status} before it answered",
            help="look for what ended it: a signal, or too little memory",
            notes=(Note(label="pypto", text=" / ".join(tail)),) if tail else (),
        )

    def close(self, *, grace: float = _GRACE) -> None:
        """End the process, its devices' processes, and remove their files."""
        if self._is_closed:
            return
        self._is_closed = True
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if grace:
            self._close_politely(self._process.stdin, grace)
        end_session(self._process, grace)
        self._process.stdout.close()
        self._folder.cleanup()

    def _close_politely(self, requests: BinaryIO | Any, grace: float) -> None:
        """The end of its requests lets the child put everything away."""
        try:
            requests.close()
            self._process.wait(grace)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            return


def _read_line(stream: Any, timeout: float | None) -> bytes:
    """One line; b"" where the stream ends. Raises ExecutionError (AR803) too late."""
    deadline = None if timeout is None else time.monotonic() + timeout
    line = b""
    while not line.endswith(b"\n"):
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready, _, _ = select.select([stream], [], [], left)
        if not ready:
            raise ExecutionError([_too_late(timeout)])
        part = os.read(stream.fileno(), 65536)
        if not part:
            return b""
        line += part
    return line


def _too_late(timeout: float | None) -> Diagnostic:
    return diagnose(
        codes.AR803,
        f"stopped after {timeout:g} s: pypto had not ended",
        help="run it on the simulator here, which names a deadlock at once",
    )


_workers: dict[str, Worker] = {}
"""By platform: one process serves one backend only."""


def worker_for(platform: str) -> Worker:
    """The process for `platform`, started unless there is one."""
    worker = _workers.get(platform)
    if worker is None or not worker.is_alive:
        worker = _workers[platform] = Worker(builds_here=False)
    return worker


@atexit.register
def close_workers() -> None:
    """End every process that is kept."""
    while _workers:
        _, worker = _workers.popitem()
        worker.close()
