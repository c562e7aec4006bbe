"""Diagnostics as text for people and as data for programs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

from .model import Code, Diagnostic, Location

SCHEMA_VERSION = 1
_TEXT_WIDTH = 80


def format_location(location: Location) -> str:
    """`kernel.py:74, rank 1, event 14 (wait)`, leaving out what is not known."""
    parts = []
    if location.file is not None:
        line = "" if location.line is None else f":{location.line}"
        parts.append(f"{location.file}{line}")
    elif location.step is not None:
        parts.append(f"plan step {location.step}")
    if location.rank is not None:
        block = "" if location.block is None else f" block {location.block}"
        parts.append(f"rank {location.rank}{block}")
    if location.event is not None:
        kind = "" if location.kind is None else f" ({location.kind})"
        parts.append(f"event {location.event}{kind}")
    return ", ".join(parts)


def format_diagnostic(diagnostic: Diagnostic) -> str:
    """The finding as lines of text, without a trailing newline."""
    code = diagnostic.code
    head = f"{diagnostic.severity.value}[{code.id}] {code.name}"
    lines = [f"{head}: {diagnostic.message}"]
    if diagnostic.location is not None:
        lines.append(f"  --> {format_location(diagnostic.location)}")
    for note in diagnostic.notes:
        where = "" if note.location is None else f"{format_location(note.location)}: "
        lines.append(f"   = {note.label}: {where}{note.text}")
    lines += _format_counterexample(diagnostic)
    lines.append(f"   = help: {diagnostic.help}")
    lines.append(f"   = more: allreduce-gen explain {code.id}")
    return "\n".join(lines)


def _format_counterexample(diagnostic: Diagnostic) -> list[str]:
    """The interleaving as numbered lines under a heading, or nothing."""
    lines = ["   = counterexample:"] if diagnostic.counterexample else []
    for number, moment in enumerate(diagnostic.counterexample, start=1):
        where = ""
        if moment.location is not None:
            where = f"{format_location(moment.location)}: "
        lines.append(f"     {number}. {where}{moment.text}")
    return lines


def format_diagnostics(diagnostics: Iterable[Diagnostic]) -> str:
    """All findings, a blank line between two, without a trailing newline."""
    return "\n\n".join(format_diagnostic(one) for one in diagnostics)


def format_code(code: Code) -> str:
    """The text of `explain`: what the finding means, why it matters, how to mend it."""
    example = "\n".join(f"    {line}".rstrip() for line in code.example.splitlines())
    what, why, fix = (
        textwrap.fill(text, _TEXT_WIDTH, break_on_hyphens=False)
        for text in (code.what, f"Why: {code.why}", f"Fix: {code.fix}")
    )
    return (
        f"{code.id} {code.name} ({code.severity.value})\n\n"
        f"{what}\n\n{why}\n\nExample:\n\n{example}\n\n{fix}"
    )


def diagnostic_to_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """The finding as plain data."""
    return {
        "code": diagnostic.code.id,
        "name": diagnostic.code.name,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "help": diagnostic.help,
        "location": _location_to_json(diagnostic.location),
        "notes": [
            {
                "label": note.label,
                "text": note.text,
                "location": _location_to_json(note.location),
            }
            for note in diagnostic.notes
        ],
        "counterexample": [
            {"text": moment.text, "location": _location_to_json(moment.location)}
            for moment in diagnostic.counterexample
        ],
    }


def _location_to_json(location: Location | None) -> dict[str, Any] | None:
    if location is None:
        return None
    return {name: getattr(location, name) for name in Location.__slots__}
