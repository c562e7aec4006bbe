"""Whether the real pypto can be used, and one that is only pretended."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from allreduce_gen.engines.pypto import find_parts, missing_part
from allreduce_gen.engines.pypto.worker import close_workers


@pytest.fixture(scope="module")
def frontend() -> None:
    """The real compiler, up to its assembler."""
    missing = missing_part(find_parts(), "a2a3sim", compile_only=True)
    if missing is not None:
        pytest.skip(missing.message)


@pytest.fixture
def simulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The real compiler, assembler, runtime and CPU simulator; they leave nothing."""
    missing = missing_part(find_parts(), "a2a3sim")
    if missing is not None:
        pytest.skip(missing.message)
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    close_workers()
    assert list(folder.iterdir()) == []
