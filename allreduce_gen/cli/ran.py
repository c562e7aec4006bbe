"""What `run` has to say about its file: as text or JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allreduce_gen.diagnostics import SCHEMA_VERSION, Diagnostic, diagnostic_to_json
from allreduce_gen.diagnostics.wording import plural
from allreduce_gen.engines.all_reduce import RunReport
from allreduce_gen.errors import AllReduceGenError, InternalError
from allreduce_gen.verdicts import CheckedProgram

from .ending import exit_code
from .output import print_json, print_note, print_result


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One program that passed its checks and was right on every rank."""

    program: CheckedProgram
    report: RunReport


def print_ran(
    file: Path, ran: Sequence[Ran], output_format: str, *, quiet: bool
) -> None:
    """Every program that was run, in the form that is asked for."""
    if output_format == "json":
        print_json(_to_json(file, ran))
        return
    for one in ran:
        print_note(f"{file}: {format_report(one.report)}", quiet=quiet)
    print_result("OK")


def refused_as_data(file: Path, output_format: str, work: Callable[[], int]) -> int:
    """The exit code of `work`; for JSON, what it raises about `file` is data too."""
    try:
        return work()
    except InternalError:
        raise
    except AllReduceGenError as error:
        if output_format != "json":
            raise
        print_json(_to_json(file, (), error.diagnostics))
        return exit_code(error)


def format_report(report: RunReport) -> str:
    """What a run moved, in one line."""
    busiest = max(counter.remote_bytes for counter in report.counters)
    return (
        f"{plural(report.num_ranks, 'rank')} x {plural(report.size, 'element')} "
        "right on every rank; "
        f"{busiest} remote bytes on the busiest rank"
    )


def _to_json(
    file: Path, ran: Iterable[Ran], refused: Sequence[Diagnostic] = ()
) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "file": str(file),
        "correct": not refused,
        "programs": [_program_to_json(one) for one in ran],
        "diagnostics": [diagnostic_to_json(each) for each in refused],
    }


def _program_to_json(one: Ran) -> dict[str, Any]:
    report = one.report
    return {
        "program": one.program.name,
        "num_ranks": report.num_ranks,
        "calls": report.calls,
        "size": report.size,
        "remote_bytes": [counter.remote_bytes for counter in report.counters],
        "events": sum(counter.events for counter in report.counters),
        "notifies": sum(counter.notifies for counter in report.counters),
        "waits": sum(counter.waits for counter in report.counters),
        "diagnostics": [diagnostic_to_json(each) for each in one.program.findings],
    }
