"""A pytest session with the engine in pypto's place: `-p allreduce_gen.pytest_plugin`.

What the tests import as pypto is then checked and simulated here. The options and
fixtures below are those that pypto's own tests ask for; where a conftest.py defines
one, that one holds.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from .scripts import in_place_of_pypto

_OPTIONS: dict[str, dict[str, Any]] = {
    "--platform": {"default": "a2a3sim", "help": "whose limits hold"},
    "--device": {"default": "0-15", "help": "device ids: 0-3, or 0,1,2,3"},
    "--codegen-only": {"action": "store_true", "help": "compile, and run nothing"},
}
_standing_in = contextlib.ExitStack()


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser
) -> Iterator[None]:
    """Stand in before any conftest.py is imported, which may import pypto."""
    folder = Path(early_config.invocation_params.dir)
    _standing_in.enter_context(in_place_of_pypto(folder))
    try:
        yield
    except BaseException:
        _standing_in.close()
        raise
    for name, settings in _OPTIONS.items():
        with contextlib.suppress(ValueError):  # a conftest.py has it
            parser.addoption(name, **settings)


def pytest_unconfigure() -> None:
    """Leave the process as it was."""
    _standing_in.close()


@pytest.fixture
def test_config(request: pytest.FixtureRequest) -> SimpleNamespace:
    """What a test compiles for."""
    return SimpleNamespace(platform=request.config.getoption("--platform"))


@pytest.fixture
def device_ids(request: pytest.FixtureRequest) -> list[int]:
    """The devices that a test may use: none of them is touched."""
    return parse_devices(request.config.getoption("--device"))


def parse_devices(text: str) -> list[int]:
    """Device ids of `0-3`, `0,1,2,3` or both mixed. Raises UsageError for others."""
    found: dict[int, None] = {}
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not first.isdecimal() or (last and not last.isdecimal()):
            raise pytest.UsageError(f"--device: {text!r} is no list like 0-3 or 0,1")
        found |= dict.fromkeys(range(int(first), int(last or first) + 1))
    return list(found)
