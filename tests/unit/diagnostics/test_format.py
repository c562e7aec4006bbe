"""Findings as text and as data."""

from __future__ import annotations

import json

import pytest

from allreduce_gen.diagnostics import (
    Diagnostic,
    Location,
    Note,
    Severity,
    codes,
    diagnose,
    diagnostic_to_json,
    format_code,
    format_diagnostic,
    format_diagnostics,
    format_location,
)

REUSED_SLOT = """\
error[AR303] signal-slot-reused: barrier round 1 waits for slot [0, 2] >= 1, \
which round 0 has already satisfied
  --> kernel.py:74, rank 1, event 14 (wait)
   = first use: kernel.py:48, rank 1, event 6 (wait >= 1)
   = consequence: rank 1 may read result[1024:2048] of rank 2 before it is stored \
(AR401)
   = help: give each barrier round its own signal row, or wait for >= 2
   = more: allreduce-gen explain AR303"""

MISSING_DIVISOR = """\
error[AR103] size-not-divisible: 4096 elements leave 1 over
   = help: use 4080 or 4104
   = more: allreduce-gen explain AR103"""


def reused_slot() -> Diagnostic:
    return diagnose(
        codes.AR303,
        "barrier round 1 waits for slot [0, 2] >= 1, which round 0 has already "
        "satisfied",
        help="give each barrier round its own signal row, or wait for >= 2",
        location=Location(file="kernel.py", line=74, rank=1, event=14, kind="wait"),
        notes=(
            Note(
                label="first use",
                text="kernel.py:48, rank 1, event 6 (wait >= 1)",
            ),
            Note(
                label="consequence",
                text="rank 1 may read result[1024:2048] of rank 2 before it is stored "
                "(AR401)",
            ),
        ),
    )


def size_not_divisible() -> Diagnostic:
    return diagnose(codes.AR103, "4096 elements leave 1 over", help="use 4080 or 4104")


def test_a_finding_with_a_place_and_notes() -> None:
    assert format_diagnostic(reused_slot()) == REUSED_SLOT


def test_a_finding_without_a_place() -> None:
    assert format_diagnostic(size_not_divisible()) == MISSING_DIVISOR


def test_a_blank_line_stands_between_findings() -> None:
    text = format_diagnostics([size_not_divisible(), reused_slot()])
    assert text == f"{MISSING_DIVISOR}\n\n{REUSED_SLOT}"


def test_no_findings_are_no_text() -> None:
    assert format_diagnostics([]) == ""


def test_a_note_with_a_place_of_its_own() -> None:
    note = Note(label="writer", text="stores it", location=Location(rank=2, event=7))
    finding = diagnose(codes.AR401, "a race", help="add a barrier", notes=(note,))
    assert "   = writer: rank 2, event 7: stores it" in format_diagnostic(finding)


def test_a_finding_takes_the_severity_of_its_code() -> None:
    assert diagnose(codes.AR302, "unheard", help="wait").severity is Severity.WARNING
    assert reused_slot().is_error


def test_a_finding_may_be_milder_than_its_code() -> None:
    mild = diagnose(codes.AR303, "reused", help="-", severity=Severity.WARNING)
    assert not mild.is_error
    assert format_diagnostic(mild).startswith("warning[AR303] signal-slot-reused: ")


@pytest.mark.parametrize(
    ("location", "text"),
    [
        (Location(file="kernel.py"), "kernel.py"),
        (Location(file="kernel.py", line=3), "kernel.py:3"),
        (Location(step="gather", rank=0), "plan step gather, rank 0"),
        (Location(file="kernel.py", line=3, step="gather"), "kernel.py:3"),
        (Location(rank=1, event=0, kind="load"), "rank 1, event 0 (load)"),
        (Location(), ""),
    ],
)
def test_a_location_leaves_out_what_is_not_known(location: Location, text: str) -> None:
    assert format_location(location) == text


def test_a_finding_as_data() -> None:
    data = diagnostic_to_json(reused_slot())
    assert json.loads(json.dumps(data)) == data
    assert data["code"] == "AR303"
    assert data["name"] == "signal-slot-reused"
    assert data["severity"] == "error"
    assert data["location"] == {
        "file": "kernel.py",
        "line": 74,
        "step": None,
        "rank": 1,
        "block": None,
        "event": 14,
        "kind": "wait",
    }
    assert [note["label"] for note in data["notes"]] == ["first use", "consequence"]
    assert data["notes"][0]["location"] is None


def test_a_finding_without_a_place_as_data() -> None:
    assert diagnostic_to_json(size_not_divisible()) == {
        "code": "AR103",
        "name": "size-not-divisible",
        "severity": "error",
        "message": "4096 elements leave 1 over",
        "help": "use 4080 or 4104",
        "location": None,
        "notes": [],
        "counterexample": [],
    }


def test_explain_gives_every_text_of_a_code() -> None:
    assert (
        format_code(codes.AR604)
        == """\
AR604 output-not-writable (error)

The output file cannot be written.

Why: A kernel is written whole or not at all: into a temporary file beside the
target, which then replaces it. The folder must exist and be writable, and an
existing file must have its write permission.

Example:

    allreduce-gen --ranks 4 --size 4096 -o missing/kernel.py

Fix: Create the folder, change the permission, or choose another place. Without
`-o` the source goes to standard output."""
    )
