"""Kernel: emitted source with its spec, plan, trace and cost."""

from __future__ import annotations

import os
import stat
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from .diagnostics import Diagnostic, Location, codes, diagnose
from .errors import EmitError
from .ir.cost import Cost
from .ir.plan import Plan
from .ir.trace import Trace
from .spec import AllReduceSpec

_WRITE_BITS = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One proved kernel. `warnings` are what the checks found and did not refuse."""

    spec: AllReduceSpec
    source: str = field(repr=False)
    plan: Plan = field(repr=False)
    trace: Trace = field(repr=False)
    cost: Cost
    warnings: tuple[Diagnostic, ...] = ()

    def write(self, path: Path) -> None:
        """Write the source to `path`, whole or not at all.

        Raises EmitError (AR604) where `path` cannot be written.
        """
        write_whole(path, self.source)


def write_whole(path: Path, text: str) -> None:
    """Replace `path` by `text` in one step; links are followed, devices written to.

    Raises EmitError (AR604) for a missing folder, a folder, or no leave to write.
    """
    try:
        _refuse_read_only(path)
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
        else:
            _replace(path.resolve(), text)
    except OSError as error:
        raise EmitError([_not_writable(path, error)]) from error


def _refuse_read_only(path: Path) -> None:
    """An existing file with no write bit stays as it is, also for root."""
    if path.is_file() and not path.stat().st_mode & _WRITE_BITS:
        raise PermissionError(0, "it has no write permission")


def _replace(path: Path, text: str) -> None:
    """Write beside `path`, then put the new file in its place with the old mode."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, path.stat().st_mode if path.exists() else 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _not_writable(path: Path, error: OSError) -> Diagnostic:
    reason = error.strerror or str(error)
    return diagnose(
        codes.AR604,
        f"{path} was not written: {reason[0].lower()}{reason[1:]}",
        location=Location(file=str(path)),
        help="give -o a file in an existing folder that may be written to",
    )
