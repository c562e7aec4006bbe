"""What the tests of the MPI engine share: whether it can run, and what it leaves."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from allreduce_gen.engines.mpi.available import missing_part


@pytest.fixture
def mpi() -> None:
    missing = missing_part()
    if missing is not None:
        pytest.skip(missing.message)


@pytest.fixture
def leaves_nothing(mpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The folder for temporary files, which a test has to leave as empty as it was.

    No process may be left that was started in it, and no shared memory.
    """
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    shared = orphaned_memory()
    yield folder
    assert list(folder.iterdir()) == []
    assert processes_of(folder) == []
    assert orphaned_memory() <= shared


def orphaned_memory() -> set[Path]:
    """What MPI libraries have left in shared memory that no process maps."""
    names = ("mpich*", "ucx*", "ompi*", "vader*", "sm_segment*")
    found = {path for name in names for path in Path("/dev/shm").glob(name)}
    maps = "".join(read(path) for path in Path("/proc").glob("[0-9]*/maps"))
    return {path for path in found if str(path) not in maps}


def read(path: Path) -> str:
    """A file of /proc; empty where its process has ended."""
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:
        return ""


def processes_of(folder: Path) -> list[int]:
    """Processes whose command line names `folder`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        if str(folder) in read(path):
            found.append(int(path.parent.name))
    return found
