"""Which warnings comments silence, and which they do not."""

from __future__ import annotations

import pytest

from allreduce_gen.diagnostics import (
    Diagnostic,
    Location,
    Severity,
    codes,
    diagnose,
    read_silences,
    split_silenced,
)

TEXT = """\
first = 1  # allreduce-gen: ignore[AR409]
# allreduce-gen: ignore[AR302, ar310]
# why: the last round's notify is for a reader of ours
second = 2
third = "# allreduce-gen: ignore[AR409]"
"""


def _finding(code, line: int | None, **options) -> Diagnostic:
    where = Location(file="kernel.py", line=line)
    return diagnose(code, "seen", help="do", location=where, **options)


def test_comments_are_read_from_their_line_and_from_above() -> None:
    assert read_silences(TEXT) == {
        1: frozenset({"AR409"}),
        2: frozenset({"AR302", "AR310"}),
        4: frozenset({"AR302", "AR310"}),
    }


@pytest.mark.parametrize("text", ["", "'''", "def f(:\n\t \n x", "\0"])
def test_text_that_is_no_python_silences_nothing(text: str) -> None:
    assert read_silences(text) == {}


@pytest.mark.parametrize(
    ("code", "line", "is_silenced"),
    [
        (codes.AR409, 1, True),
        (codes.AR302, 4, True),
        (codes.AR409, 4, False),
        (codes.AR409, 5, False),
        (codes.AR409, None, False),
    ],
)
def test_warnings_are_silenced_by_code_and_line(code, line, is_silenced) -> None:
    standing, silenced = split_silenced([_finding(code, line)], lambda _: TEXT)
    assert (len(standing), len(silenced)) == (not is_silenced, is_silenced)


def test_errors_stand() -> None:
    graver = _finding(codes.AR409, 1, severity=Severity.ERROR)
    assert split_silenced([graver], lambda _: TEXT) == ((graver,), ())


def test_a_file_is_read_once_and_only_for_warnings() -> None:
    read: list[str] = []

    def text_of(file: str) -> str:
        read.append(file)
        return TEXT

    split_silenced([_finding(codes.AR401, 1)], text_of)
    assert read == []
    split_silenced([_finding(codes.AR409, 1), _finding(codes.AR302, 1)], text_of)
    assert read == ["kernel.py"]
