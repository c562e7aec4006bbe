"""Where things are printed: results on stdout, everything else on stderr."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from allreduce_gen.diagnostics import Diagnostic, Severity, format_diagnostic

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow"}


class StdoutClosedError(Exception):
    """Whoever read stdout has gone, or it cannot be written; the text says which."""


def print_result(text: str) -> None:
    """One result, on stdout. Raises StdoutClosedError where it does not get there."""
    # It is None where the shell has closed it (`>&-`), whatever its type says.
    stdout: TextIO | None = sys.stdout
    if stdout is None:
        raise StdoutClosedError("stdout is closed")
    try:
        stdout.write(f"{text}\n")
        stdout.flush()
    except OSError as error:
        # The interpreter would try to write the rest once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
        raise StdoutClosedError(_what_happened(error)) from error


def _what_happened(error: OSError) -> str:
    if isinstance(error, BrokenPipeError):
        return "stdout was closed before everything was written"
    return f"stdout could not be written: {(error.strerror or str(error)).lower()}"


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
        sys.stderr.write(f"{text}\n")


def print_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Findings on stderr, a blank line between two, coloured on a terminal."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    for index, diagnostic in enumerate(diagnostics):
        text = Text("\n" if index else "")
        head, _, rest = format_diagnostic(diagnostic).partition(":")
        text.append(head, style=_STYLES[diagnostic.severity])
        text.append(f":{rest}")
        console.print(text)
