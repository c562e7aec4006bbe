"""What goes wrong over MPI is named, and leaves nothing behind."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from allreduce_gen.engines.base import RunOptions
from allreduce_gen.engines.mpi import available, run_mpi
from allreduce_gen.engines.simulator import simulate
from allreduce_gen.errors import EngineUnavailableError, ExecutionError

X = {"x": np.ones((2, 8), np.float32)}


def one_notify_short(sketch):
    """Rank 1 waits for a second notify that rank 0 never sends."""
    program = sketch(2)
    zero, one = program.ranks
    zero.notify(1)
    one.wait(0, 0, 2)
    one.copy("x", "y")
    return program.trace()


def waits_for_a_busy_rank(sketch):
    """Rank 1 has work for a while before it lets rank 0 go."""
    program = sketch(2)
    zero, one = program.ranks
    for _ in range(10_000):
        one.copy("x", "y")
    one.notify(0)
    zero.wait(0, 1)
    return program.trace()


def test_a_deadlock_is_said_as_the_simulator_says_it(sketch, leaves_nothing) -> None:
    trace = one_notify_short(sketch)
    said = []
    for run in (simulate, run_mpi):
        with pytest.raises(ExecutionError) as caught:
            run(trace, X)
        said.append(caught.value.diagnostics)
    assert said[0] == said[1]
    assert said[1][0].code.id == "AR801"
    assert said[1][0].notes[0].text == "signal[0, 0] is 1, wanted >= 2"


def on_start(folder: Path, rank: int, action) -> threading.Thread:
    """Do `action` to the process of `rank` as soon as it says that it has started."""

    def watch() -> None:
        while not (seen := list(folder.glob(f"*/start-{rank}.pickle"))):
            pass
        action(pickle.loads(seen[0].read_bytes()).pid)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_a_killed_rank_is_named(sketch, leaves_nothing) -> None:
    thread = on_start(leaves_nothing, 1, lambda pid: os.kill(pid, signal.SIGKILL))
    with pytest.raises(ExecutionError) as caught:
        run_mpi(waits_for_a_busy_rank(sketch), X)
    thread.join()
    (finding,) = caught.value.diagnostics
    assert finding.code.id == "AR804"
    assert finding.message.startswith("rank 1 ended before its work was done")


def test_a_rank_that_hangs_ends_at_the_time_limit(sketch, leaves_nothing) -> None:
    thread = on_start(leaves_nothing, 1, lambda pid: os.kill(pid, signal.SIGSTOP))
    with pytest.raises(ExecutionError) as caught:
        run_mpi(waits_for_a_busy_rank(sketch), X, RunOptions(timeout=3))
    thread.join()
    (finding,) = caught.value.diagnostics
    assert finding.code.id == "AR803"
    assert finding.message == "stopped after 3 s; ranks 0, 1 had not ended"


def test_no_mpi4py_is_named(sketch, monkeypatch) -> None:
    monkeypatch.setattr(available, "has_mpi4py", lambda: False)
    with pytest.raises(EngineUnavailableError, match="mpi4py is not installed"):
        run_mpi(one_notify_short(sketch), X)


def test_no_mpiexec_is_named(sketch, monkeypatch) -> None:
    monkeypatch.setattr(available, "has_mpi4py", lambda: True)
    monkeypatch.setattr(available, "find_mpiexec", lambda: None)
    with pytest.raises(EngineUnavailableError, match="there is no mpiexec"):
        run_mpi(one_notify_short(sketch), X)
