"""Where things are printed: results on stdout, everything else on stderr."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from allreduce_gen.diagnostics import Diagnostic, Severity, format_diagnostic

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow"}


class StdoutError(Exception):
    """A result did not get to stdout; the text says why."""


def print_result(text: str) -> None:
    """One result, on stdout. Raises StdoutError where it does not get there."""
    # It is None where the shell has closed it (`>&-`), whatever its type says.
    stdout: TextIO | None = sys.stdout
    if stdout is None:
        raise StdoutError("stdout is closed")
    try:
        with _without_reader(stdout):
            stdout.write(f"{text}\n")
            stdout.flush()
    except OSError as error:
        _discard(stdout)
        reason = (error.strerror or str(error)).lower()
        raise StdoutError(f"stdout could not be written: {reason}") from error


@contextmanager
def _without_reader(stream: TextIO) -> Iterator[None]:
    """Let a reader that has gone miss the rest: that is no error, and changes none."""
    try:
        yield
    except BrokenPipeError:
        _discard(stream)


def _discard(stream: TextIO) -> None:
    """What is left for `stream` leads nowhere.

    The interpreter would try to write it once more when it ends.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def format_table(table: Table) -> str:
    """`table` as text, as wide as it needs to be."""
    console = Console(file=io.StringIO(), width=200)
    console.print(table)
    rows = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    return "\n".join(row.rstrip() for row in rows)


def print_json(data: Any) -> None:
    """One result as JSON, on stdout."""
    print_result(json.dumps(data, indent=2))


def print_note(text: str, *, quiet: bool = False) -> None:
    """What happened, on stderr."""
    if not quiet:
        with _without_reader(sys.stderr):
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()


def print_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Findings on stderr, a blank line between two, coloured on a terminal."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    for index, diagnostic in enumerate(diagnostics):
        text = Text("\n" if index else "")
        head, _, rest = format_diagnostic(diagnostic).partition(":")
        text.append(head, style=_STYLES[diagnostic.severity])
        text.append(f":{rest}")
        with console.capture() as captured:
            console.print(text)
        print_note(captured.get().removesuffix("\n"))
