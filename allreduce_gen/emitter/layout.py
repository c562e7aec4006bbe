"""Long lines broken: statements as the formatter does it, texts between words.

Comments and a docstring's sentences go on under their beginning, a rank's line of the
schedule under what it does first, and is broken between two steps.
"""

from __future__ import annotations

import re
import textwrap
from collections import deque
from collections.abc import Iterable

from .statements import LINE_LENGTH, break_statement

_QUOTES = '"""'
_GLUE = "\N{NO-BREAK SPACE}"


def lay_out(source: str) -> str:
    """`source` with every long line broken."""
    lines, in_docstring = [], False
    rest = deque(source.splitlines(keepends=True))
    while rest:
        line = rest.popleft()
        if len(line.rstrip("\n")) <= LINE_LENGTH:
            lines.append(line)
        elif (start := _text_start(line, in_docstring)) is not None:
            lines.append(_fill(start, start, _words(line, start, rest)))
        elif line.startswith(_QUOTES):
            lines.append(_fill(_QUOTES, "", line.removeprefix(_QUOTES).split()))
        else:
            breaks = _break_schedule if in_docstring else break_statement
            lines.append(breaks(line))
        in_docstring ^= line.count(_QUOTES) % 2 == 1
    return "".join(lines)


def _text_start(line: str, in_docstring: bool) -> str | None:
    """What every line of the text begins with that `line` is one of."""
    if in_docstring:
        return None if line.startswith(" ") else ""
    comment = re.match(r" *# ", line)
    return None if comment is None else comment[0]


def _words(line: str, start: str, rest: deque[str]) -> list[str]:
    """The words of a text from `line` on; its lines are taken from `rest`."""
    words = line.removeprefix(start).split()
    while rest and (more := re.match(rf"{start}(\w.*)", rest[0])):
        words += more[1].split()
        rest.popleft()
    return words


def _break_schedule(line: str) -> str:
    """One rank's steps, each of them whole."""
    start = re.match(r" +(rank \d+ +)?", line)
    assert start is not None, "it begins with spaces"
    steps = re.split(r" (?=\| )", line[start.end() :].rstrip())
    return _fill(start[0], " " * start.end(), steps)


def _fill(start: str, later: str, parts: Iterable[str]) -> str:
    """`parts`, which stay whole, in as many lines as they need."""
    text = textwrap.fill(
        " ".join(part.replace(" ", _GLUE) for part in parts),
        LINE_LENGTH,
        initial_indent=start,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return f"{text.replace(_GLUE, ' ')}\n"
