"""Findings as a SARIF 2.1.0 log, for code review.

Rules are the registry's codes. Notes with a place become related locations, and a
counterexample becomes a code flow. What a comment silences is there, as suppressed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .codes import CODES
from .format import format_code, format_location
from .model import Code, Diagnostic, Location, Moment, Note

SARIF_VERSION = "2.1.0"
_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
    "sarif-schema-2.1.0.json"
)
_NUMBERS = {id: number for number, id in enumerate(CODES)}


def sarif_log(
    findings: Iterable[Diagnostic],
    silenced: Iterable[Diagnostic] = (),
    *,
    version: str,
) -> dict[str, Any]:
    """One run of allreduce-gen `version` with all its findings, as plain data."""
    driver = {
        "name": "allreduce-gen",
        "version": version,
        "rules": [_rule(code) for code in CODES.values()],
    }
    results = [_result(one) for one in findings]
    results += [
        _result(one) | {"suppressions": [{"kind": "inSource"}]} for one in silenced
    ]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints"}
    return {
        "$schema": _SCHEMA,
        "version": SARIF_VERSION,
        "runs": [run | {"results": results}],
    }


def _rule(code: Code) -> dict[str, Any]:
    return {
        "id": code.id,
        "name": code.name,
        "shortDescription": {"text": code.what},
        "fullDescription": {"text": f"{code.what} {code.why}"},
        "help": {"text": format_code(code)},
        "defaultConfiguration": {"level": code.severity.value},
    }


def _result(one: Diagnostic) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": one.code.id,
        "ruleIndex": _NUMBERS[one.code.id],
        "level": one.severity.value,
        "message": {"text": f"{one.message}. Help: {one.help}"},
    }
    if one.location is not None:
        result["locations"] = [_location(one.location)]
    related = [_related(note) for note in one.notes if note.location is not None]
    if related:
        result["relatedLocations"] = related
    if one.counterexample:
        flow = [_step(moment) for moment in one.counterexample]
        result["codeFlows"] = [{"threadFlows": [{"locations": flow}]}]
    return result


def _location(where: Location) -> dict[str, Any]:
    """The file and line, and whose event it is as a logical location."""
    found: dict[str, Any] = {}
    if where.file is not None:
        physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(where.file)}}
        if where.line is not None:
            physical["region"] = {"startLine": where.line}
        found["physicalLocation"] = physical
    if where.rank is not None:
        name = format_location(
            dataclasses.replace(where, file=None, line=None, step=None)
        )
        found["logicalLocations"] = [{"name": name}]
    return found


def _uri(file: str) -> str:
    path = Path(file)
    return path.as_uri() if path.is_absolute() else path.as_posix()


def _related(note: Note) -> dict[str, Any]:
    assert note.location is not None
    text = f"{note.label}: {note.text}"
    return _location(note.location) | {"message": {"text": text}}


def _step(moment: Moment) -> dict[str, Any]:
    where = {} if moment.location is None else _location(moment.location)
    return {"location": where | {"message": {"text": moment.text}}}
