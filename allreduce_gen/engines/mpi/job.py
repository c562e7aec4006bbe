"""A run as files in a folder, from the process that starts it to its ranks and back.

    job.pickle        what all ranks need         agent-7.pickle   one agent's events
    input-0.npy       a host buffer's bytes       start-3.pickle   rank 3 has started
    result-3.pickle   rank 3 has ended            failed-3.pickle  rank 3 found a fault

The folder is private to the user, so its pickles are our own.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from allreduce_gen.diagnostics import Diagnostic
from allreduce_gen.engines.base import Bytes
from allreduce_gen.engines.processes import named_shared_memory
from allreduce_gen.ir.events import Event
from allreduce_gen.ir.memory import Buffer
from allreduce_gen.ir.trace import Agent, AgentTrace

from .work import RankJob, RankResult


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    agents: tuple[Agent, ...]
    windows: tuple[Buffer, ...]
    inputs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankStart:
    """A rank's process, and the named shared memory that MPI has given it."""

    pid: int
    shared: tuple[str, ...]


def write_job(
    folder: Path,
    agents: Sequence[AgentTrace],
    windows: Iterable[Buffer],
    inputs: Mapping[str, Bytes],
) -> None:
    """Write what `read_job` reads; each agent alone, for a rank reads only its own."""
    job = _Job(
        agents=tuple(one.agent for one in agents),
        windows=tuple(windows),
        inputs=tuple(inputs),
    )
    _dump(folder / "job.pickle", job)
    for at, one in enumerate(agents):
        _dump(folder / f"agent-{at}.pickle", one.events)
    for at, content in enumerate(inputs.values()):
        np.save(folder / f"input-{at}.npy", content)


def read_job(folder: Path) -> RankJob:
    job: _Job = _load(folder / "job.pickle")

    @cache
    def lookup(at: int) -> tuple[Event, ...]:
        events: tuple[Event, ...] = _load(folder / f"agent-{at}.pickle")
        return events

    return RankJob(
        agents=job.agents,
        lookup=lookup,
        windows=job.windows,
        inputs={
            name: np.load(folder / f"input-{at}.npy", mmap_mode="r")
            for at, name in enumerate(job.inputs)
        },
    )


def note_start(folder: Path, rank: int) -> None:
    start = RankStart(pid=os.getpid(), shared=named_shared_memory("self"))
    _dump(folder / f"start-{rank}.pickle", start)


def write_result(folder: Path, rank: int, result: RankResult) -> None:
    _dump(folder / f"result-{rank}.pickle", result)


def write_failure(folder: Path, rank: int, findings: tuple[Diagnostic, ...]) -> None:
    _dump(folder / f"failed-{rank}.pickle", findings)


def read_starts(folder: Path) -> dict[int, RankStart]:
    """The process of each rank that has started."""
    return _load_all(folder, "start")


def read_results(folder: Path) -> dict[int, RankResult]:
    """What each rank that has ended has done."""
    return _load_all(folder, "result")


def read_failures(folder: Path) -> dict[int, tuple[Diagnostic, ...]]:
    """What ranks found that could not go on."""
    return _load_all(folder, "failed")


def ended_ranks(folder: Path) -> set[int]:
    return {_rank_of(path) for path in folder.glob("result-*.pickle")}


def _load_all(folder: Path, word: str) -> dict[int, Any]:
    paths = sorted(folder.glob(f"{word}-*.pickle"), key=_rank_of)
    return {_rank_of(path): _load(path) for path in paths}


def _rank_of(path: Path) -> int:
    return int(path.stem.rpartition("-")[2])


def _dump(path: Path, value: object) -> None:
    """Write whole or not at all: the process that started the job may look any time."""
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        pickle.dump(value, file, pickle.HIGHEST_PROTOCOL)
    partial.replace(path)


def _load(path: Path) -> Any:
    with path.open("rb") as file:
        return pickle.load(file)
