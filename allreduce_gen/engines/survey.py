"""What each engine can do on this machine, and what would make it do more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .mpi import find_mpiexec, has_mpi4py
from .mpi.available import INSTALL
from .pypto import PyptoParts, find_parts
from .pypto.parts import TRIED_COMMIT, next_step


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineState:
    """One engine: whether it works here, what it gives, what to install next."""

    name: str
    is_ready: bool
    state: str
    gives: str
    next_step: str = ""


def survey_engines() -> tuple[EngineState, ...]:
    """Every engine, those that are missing too."""
    return (_simulator(), _mpi(), _pypto(find_parts()))


def _simulator() -> EngineState:
    return EngineState(
        name="simulator",
        is_ready=True,
        state="ready",
        gives="runs kernels here, in any order that their signals allow",
    )


def _mpi() -> EngineState:
    missing = "" if has_mpi4py() else "no mpi4py"
    missing = missing or ("" if find_mpiexec() else "no mpiexec")
    return EngineState(
        name="mpi",
        is_ready=not missing,
        state=missing or "ready",
        gives="runs kernels with a process a rank, also on several machines",
        next_step=INSTALL if missing else "",
    )


def _pypto(parts: PyptoParts) -> EngineState:
    next_part = next_step(parts)
    state = "ready" if not next_part else "compiles only"
    if parts.is_canns:
        state = "another pypto"
    elif not parts.has_pypto:
        state = "not installed"
    return EngineState(
        name="pypto",
        is_ready=not next_part,
        state=state,
        gives="compiles and runs kernels for Ascend NPUs and its own simulator",
        next_step=next_part,
    )


def survey_pypto() -> Iterator[tuple[str, str]]:
    """The parts of pypto, and what was found of each."""
    parts = find_parts()
    commit = parts.commit or "unknown"
    if not parts.has_pypto:
        installed = "not found"
    elif parts.is_canns:
        installed = "CANN's package of that name"
    elif parts.commit == TRIED_COMMIT:
        installed = f"commit {commit[:8]}, the one tried"
    else:
        installed = f"commit {commit[:8]}, not tried (tried: {TRIED_COMMIT[:8]})"
    yield "pypto", installed
    yield "ptoas (assembler)", "found" if parts.ptoas else "not found"
    yield "simpler (runtime)", "found" if parts.has_runtime else "not found"
    yield "g++-15 (a2a3sim, a5sim)", "found" if parts.compiler else "not found"
    yield "CANN (a2a3, a5)", "found" if parts.cann else "ASCEND_HOME_PATH is not set"
