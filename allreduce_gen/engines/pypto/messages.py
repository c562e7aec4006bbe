"""What the engine and its child process say to each other: one JSON object a line."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from allreduce_gen.diagnostics import Diagnostic, Location, Note, diagnose, find_code
from allreduce_gen.engines.base import HostTensor, SourceProgram
from allreduce_gen.spec import DType


def encode(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(line)
    return message


def source_to_json(source: SourceProgram) -> dict[str, Any]:
    return dataclasses.asdict(source) | {
        "file": str(source.file.resolve() if source.text is None else source.file),
        "tensors": [
            dataclasses.asdict(one) | {"dtype": one.dtype.value}
            for one in source.tensors
        ],
    }


def source_from_json(data: dict[str, Any]) -> SourceProgram:
    fields = data | {
        "file": Path(data["file"]),
        "scalars": tuple(data["scalars"]),
        "tensors": tuple(
            HostTensor(
                **one | {"dtype": DType(one["dtype"]), "shape": tuple(one["shape"])}
            )
            for one in data["tensors"]
        ),
    }
    return SourceProgram(**fields)


def finding_to_json(finding: Diagnostic) -> dict[str, Any]:
    return dataclasses.asdict(finding) | {"code": finding.code.id, "severity": None}


def finding_from_json(data: dict[str, Any]) -> Diagnostic:
    code = find_code(data["code"])
    assert code is not None, "the child is of the same version"
    return diagnose(
        code,
        data["message"],
        help=data["help"],
        location=_location(data["location"]),
        notes=tuple(
            Note(**one | {"location": _location(one["location"])})
            for one in data["notes"]
        ),
    )


def _location(data: dict[str, Any] | None) -> Location | None:
    return None if data is None else Location(**data)
