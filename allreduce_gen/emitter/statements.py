"""Long statements broken as the formatter breaks them.

Templates write one statement a line. One longer than LINE_LENGTH is broken at its
outermost brackets: the contents on a line of their own where they fit, else one item a
line with a trailing comma. A chain of calls has one call a line. Nothing else of the
formatter's rules is needed here.
"""

from __future__ import annotations

import itertools

LINE_LENGTH = 88

_OPEN, _CLOSE = "([{", ")]}"
_INDENT = "    "


def break_statement(line: str) -> str:
    """`line`, which ends a line, over several ones where it is too long.

    A line with no brackets is left alone.
    """
    if len(line.rstrip("\n")) <= LINE_LENGTH:
        return line
    chain = _split_chain(line)
    return _break_brackets(line) if chain is None else _break_chain(*chain)


def _split_chain(line: str) -> tuple[str, list[str]] | None:
    """`name = ` and the calls of `first.second().third()`, if that is what it is."""
    head, equals, value = line.rstrip("\n").partition(" = ")
    calls = [0, *_outer_dots(value)]
    if not equals or len(calls) < 3:
        return None
    return head, [value[one:end] for one, end in itertools.pairwise((*calls, None))]


def _outer_dots(text: str) -> list[int]:
    """Where a call follows upon another one, outside brackets."""
    found, depth = [], 0
    for index, char in _code_chars(text):
        depth += (char in _OPEN) - (char in _CLOSE)
        if depth == 0 and char == "." and text[index - 1] == ")":
            found.append(index)
    return found


def _break_chain(head: str, calls: list[str]) -> str:
    """One call a line, in brackets."""
    indent = head[: len(head) - len(head.lstrip())]
    body = "".join(f"{indent}{_INDENT}{one}\n" for one in calls)
    return f"{head} = (\n{body}{indent})\n"


def _break_brackets(line: str) -> str:
    """`head(items)tail` over several lines."""
    indent = line[: len(line) - len(line.lstrip())]
    opened = _last_outer_bracket(line)
    if opened is None:
        return line
    start, end = opened
    inner = indent + _INDENT
    items = _split_items(line[start + 1 : end])
    if not _takes_items(line, start):
        return line
    one_line = f"{inner}{', '.join(items)}"
    if len(one_line) <= LINE_LENGTH:
        body = f"{one_line}\n"
    else:
        body = "".join(break_statement(f"{inner}{item},\n") for item in items)
    return f"{line[: start + 1]}\n{body}{indent}{line[end:]}"


def _takes_items(line: str, start: int) -> bool:
    """Whether the bracket at `start` does more than group, so that a comma is safe."""
    before = line[:start].rstrip()
    return line[start] != "(" or before[-1:].isalnum() or before[-1:] in (*")]_",)


def _last_outer_bracket(line: str) -> tuple[int, int] | None:
    """Where the last bracket pair at depth 0 that holds something opens and closes."""
    found, depth, start = None, 0, 0
    for index, char in _code_chars(line):
        if char in _OPEN:
            start = index if depth == 0 else start
            depth += 1
        elif char in _CLOSE:
            depth -= 1
            found = (start, index) if depth == 0 and index > start + 1 else found
    return found


def _split_items(text: str) -> list[str]:
    """`text` at its commas at depth 0."""
    items, depth, start = [], 0, 0
    for index, char in _code_chars(text):
        depth += (char in _OPEN) - (char in _CLOSE)
        if char == "," and depth == 0:
            items.append(text[start:index].strip())
            start = index + 1
    return [*items, last] if (last := text[start:].strip()) else items


def _code_chars(text: str) -> list[tuple[int, str]]:
    """The characters outside string literals, with their positions."""
    chars, quote = [], ""
    for index, char in enumerate(text):
        if char in "\"'" and quote in ("", char):
            quote = "" if quote else char
        elif not quote:
            chars.append((index, char))
    return chars
