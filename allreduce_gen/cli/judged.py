"""What `check` has to say about its files: as text, JSON or SARIF."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allreduce_gen import __version__
from allreduce_gen.diagnostics import (
    SCHEMA_VERSION,
    Diagnostic,
    diagnostic_to_json,
    sarif_log,
)
from allreduce_gen.diagnostics.wording import plural
from allreduce_gen.errors import CompileError
from allreduce_gen.verdicts import CheckedProgram

from .output import print_diagnostics, print_json, print_note

FORMATS = ("text", "json", "sarif")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One file: its programs, or why there is nothing in it to judge."""

    path: Path
    programs: tuple[CheckedProgram, ...] = ()
    refused: tuple[Diagnostic, ...] = ()

    @property
    def findings(self) -> list[Diagnostic]:
        found = [finding for one in self.programs for finding in one.findings]
        return [*self.refused, *found]


def judge_files(
    paths: Iterable[Path], check: Callable[[Path], tuple[CheckedProgram, ...]]
) -> list[Judged]:
    """Every file by `check`; one that is refused does not keep the others from it."""
    judged = []
    for path in paths:
        try:
            judged.append(Judged(path=path, programs=check(path)))
        except CompileError as error:
            judged.append(Judged(path=path, refused=error.diagnostics))
    return judged


def print_judged(judged: Sequence[Judged], output_format: str, *, quiet: bool) -> None:
    """All verdicts, in the form that is asked for."""
    findings = [finding for one in judged for finding in one.findings]
    if output_format == "json":
        print_json(_to_json(judged))
    elif output_format == "sarif":
        programs = [program for one in judged for program in one.programs]
        silenced = [finding for one in programs for finding in one.silenced]
        print_json(sarif_log(findings, silenced, version=__version__))
    else:
        print_diagnostics(findings)
        for one in judged:
            for program in one.programs:
                print_note(f"{one.path}: {_verdict(program)}", quiet=quiet)


def _verdict(one: CheckedProgram) -> str:
    errors = sum(finding.is_error for finding in one.findings)
    computes = one.collective.value if one.collective else "unknown collective"
    judged = "" if one.collective else "; what its outputs hold was not judged"
    warnings = plural(len(one.findings) - errors, "warning")
    counts = f"{plural(errors, 'error')}, {warnings}"
    if one.silenced:
        counts += f", {len(one.silenced)} silenced"
    ranks = plural(one.trace.num_ranks, "rank")
    return f"{one.name}, {ranks}, {computes}: {counts}{judged}"


def _to_json(judged: Sequence[Judged]) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "programs": [
            {
                "file": str(one.path),
                "program": program.name,
                "num_ranks": program.trace.num_ranks,
                "collective": program.collective.value if program.collective else None,
                "diagnostics": [diagnostic_to_json(each) for each in program.findings],
                "silenced": [diagnostic_to_json(each) for each in program.silenced],
            }
            for one in judged
            for program in one.programs
        ],
        "refused": [
            {
                "file": str(one.path),
                "diagnostics": [diagnostic_to_json(each) for each in one.refused],
            }
            for one in judged
            if one.refused
        ],
    }
