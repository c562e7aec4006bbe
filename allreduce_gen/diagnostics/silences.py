"""Warnings silenced in the source: `# allreduce-gen: ignore[AR409]`.

The comment stands on the line of the warning, or on lines of its own right above it.
Errors are never silenced. A comment that names an error, an unknown code, or a warning
that is not there, does nothing.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from .model import Diagnostic

Silences: TypeAlias = dict[int, frozenset[str]]
"""For each line of a file, counted from 1: the codes that are silenced there."""

_COMMENT = re.compile(r"#\s*allreduce-gen:\s*ignore\[([A-Za-z0-9,\s]+)\]")


def read_silences(text: str) -> Silences:
    """The silences of a file with this text; none where it is no Python."""
    lines, found = text.splitlines(), dict[int, frozenset[str]]()
    for line, codes in _comments(text):
        for at in (line, _code_below(lines, line)):
            found[at] = found.get(at, frozenset()) | codes
    return found


def _comments(text: str) -> Iterator[tuple[int, frozenset[str]]]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                match = _COMMENT.search(token.string)
                if match is not None:
                    words = match[1].upper().split(",")
                    yield token.start[0], frozenset(word.strip() for word in words)
    except (tokenize.TokenError, SyntaxError):
        return


def _code_below(lines: list[str], line: int) -> int:
    """The first line of code below a line that is a comment only, else `line`."""
    at = line
    while at <= len(lines) and lines[at - 1].lstrip().startswith("#"):
        at += 1
    return at


def split_silenced(
    findings: Iterable[Diagnostic], read: Callable[[str], str]
) -> tuple[tuple[Diagnostic, ...], tuple[Diagnostic, ...]]:
    """The findings that stand, and the warnings that their files silence.

    `read` gives the text of a file by the name that findings have for it.
    """
    known: dict[str, Silences] = {}
    standing: list[Diagnostic] = []
    silenced: list[Diagnostic] = []
    for one in findings:
        is_silenced = not one.is_error and _is_silenced(one, known, read)
        (silenced if is_silenced else standing).append(one)
    return tuple(standing), tuple(silenced)


def _is_silenced(
    one: Diagnostic, known: dict[str, Silences], read: Callable[[str], str]
) -> bool:
    where = one.location
    if where is None or where.file is None or where.line is None:
        return False
    if where.file not in known:
        known[where.file] = read_silences(read(where.file))
    return one.code.id in known[where.file].get(where.line, frozenset())
