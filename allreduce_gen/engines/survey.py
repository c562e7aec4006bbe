"""What each engine can do on this machine, and what would make it do more."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass


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
    return (_simulator(), _pypto())


def _simulator() -> EngineState:
    return EngineState(
        name="simulator",
        is_ready=True,
        state="ready",
        gives="runs kernels here, in any order that their signals allow",
    )


def _pypto() -> EngineState:
    gives = "compiles and runs kernels for Ascend NPUs and its own simulator"
    where = importlib.util.find_spec("pypto")
    if where is None:
        return EngineState(
            name="pypto",
            is_ready=False,
            state="not installed",
            gives=gives,
            next_step="install hw-native-sys/pypto (the pypto on PyPI is CANN's)",
        )
    folders = where.submodule_search_locations
    if folders is None or importlib.util.find_spec("pypto.language") is None:
        return EngineState(
            name="pypto",
            is_ready=False,
            state="another pypto",
            gives=gives,
            next_step="replace CANN's pypto, which has no pypto.language, by "
            "hw-native-sys/pypto",
        )
    return EngineState(
        name="pypto",
        is_ready=True,
        state="installed",
        gives=gives,
        next_step="python kernel.py -p a2a3sim -d 0,1,2,3",
    )
