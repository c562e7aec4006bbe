"""Files are written whole or not at all, and several together or none of them."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .diagnostics import Diagnostic, Location, codes, diagnose
from .errors import EmitError

_WRITE_BITS = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFile:
    """`text` for `path`, which the option `flag` has named."""

    path: Path
    text: str
    flag: str = "-o"

    @property
    def is_direct(self) -> bool:
        """Whether it is a pipe or a device, which nothing can take the place of."""
        return self.path.exists() and not self.path.is_file()


def write_whole(path: Path, text: str) -> None:
    """Replace `path` by `text` in one step; links are followed, devices written to.

    Raises EmitError (AR604) for a missing folder, a folder, or no leave to write.
    """
    write_together(NewFile(path=path, text=text))


def write_together(*files: NewFile) -> None:
    """The same for several files: none takes its place before all are written.

    Raises EmitError (AR604) for the first that cannot be written.
    """
    with contextlib.ExitStack() as drafts:
        direct = [one for one in files if one.is_direct]
        staged = [(one, _draft(one, drafts)) for one in files if one not in direct]
        for one in direct:
            with _refusing(one):
                one.path.write_text(one.text, encoding="utf-8")
        for one, draft in staged:
            with _refusing(one):
                os.replace(draft, one.path.resolve())


def _draft(file: NewFile, drafts: contextlib.ExitStack) -> Path:
    """The text beside the file, with its mode; `drafts` removes it unless it moves."""
    with _refusing(file):
        path = file.path.resolve()
        _refuse_read_only(path)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        drafts.callback(Path(name).unlink, missing_ok=True)
        with os.fdopen(handle, "w", encoding="utf-8") as opened:
            opened.write(file.text)
        os.chmod(name, path.stat().st_mode if path.exists() else 0o666 & ~_umask())
        return Path(name)


def _refuse_read_only(path: Path) -> None:
    """An existing file with no write bit stays as it is, also for root."""
    if path.is_file() and not path.stat().st_mode & _WRITE_BITS:
        raise PermissionError(0, "it has no write permission")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def _refusing(file: NewFile) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EmitError([_not_writable(file, error)]) from error


def _not_writable(file: NewFile, error: OSError) -> Diagnostic:
    reason = error.strerror or str(error)
    return diagnose(
        codes.AR604,
        f"{file.path} was not written: {reason[0].lower()}{reason[1:]}",
        location=Location(file=str(file.path)),
        help=f"give {file.flag} a file in an existing folder that may be written to",
    )
