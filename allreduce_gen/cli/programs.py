"""Commands for files: check, run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from allreduce_gen.checks import Collective
from allreduce_gen.diagnostics import SCHEMA_VERSION, diagnostic_to_json
from allreduce_gen.engines.all_reduce import RunReport
from allreduce_gen.engines.base import RunOptions, Schedule
from allreduce_gen.targets import PLATFORMS
from allreduce_gen.verdicts import CheckedProgram, check_file, run_file

from .inspect import format_option
from .options import WordType
from .output import print_diagnostics, print_json, print_note, print_result

_ranks_option = click.option(
    "--ranks", type=int, help="World size, where the file does not say."
)
_platform_option = click.option(
    "-p",
    "--platform",
    type=WordType(list(PLATFORMS)),
    default="a2a3sim",
    show_default=True,
    help="Whose limits hold.",
)


@click.command("check")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@_ranks_option
@_platform_option
@click.option(
    "--calls",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Calls in a row on the same windows.",
)
@click.option(
    "--collective",
    type=WordType([one.value for one in Collective]),
    help="What the programs compute, where it is not recognised.",
)
@click.option("--strict", is_flag=True, help="Exit 1 for warnings too.")
@format_option
@click.option("-q", "--quiet", is_flag=True, help="Say only what is wrong.")
def check_command(
    files: tuple[Path, ...],
    ranks: int | None,
    platform: str,
    calls: int,
    collective: str | None,
    strict: bool,
    output_format: str,
    quiet: bool,
) -> int:
    """Prove FILES free of races, deadlocks and wrong results, or say where they fail.

    The Python of FILES outside kernels is executed.
    """
    checked = [
        (path, one)
        for path in files
        for one in check_file(
            path,
            num_ranks=ranks,
            num_calls=calls,
            platform=platform,
            collective=None if collective is None else Collective(collective),
        )
    ]
    findings = [finding for _, one in checked for finding in one.findings]
    if output_format == "json":
        print_json(_verdicts_to_json(checked))
    else:
        print_diagnostics(findings)
        for path, one in checked:
            print_note(f"{path}: {_verdict(one)}", quiet=quiet)
    refused = any(one.is_error for one in findings) or (strict and bool(findings))
    return 1 if refused else 0


def _verdict(one: CheckedProgram) -> str:
    errors = sum(finding.is_error for finding in one.findings)
    computes = one.collective.value if one.collective else "unknown collective"
    judged = "" if one.collective else "; what its outputs hold was not judged"
    counts = f"{errors} errors, {len(one.findings) - errors} warnings"
    return f"{one.name}, {one.trace.num_ranks} ranks, {computes}: {counts}{judged}"


def _verdicts_to_json(checked: list[tuple[Path, CheckedProgram]]) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "programs": [
            {
                "file": str(path),
                "program": one.name,
                "num_ranks": one.trace.num_ranks,
                "collective": one.collective.value if one.collective else None,
                "diagnostics": [diagnostic_to_json(each) for each in one.findings],
            }
            for path, one in checked
        ],
    }


@click.command("run")
@click.argument("file", type=click.Path(path_type=Path))
@_ranks_option
@_platform_option
@click.option(
    "--engine",
    type=WordType(["simulator"]),
    default="simulator",
    show_default=True,
    help="What runs it.",
)
@click.option("-d", "--device", help="Comma-separated ids, one a rank.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the schedule.")
@click.option(
    "--schedule",
    type=click.Choice([one.value for one in Schedule]),
    default=Schedule.RANDOM.value,
    show_default=True,
    help="In what order ranks run.",
)
@format_option
@click.option("-q", "--quiet", is_flag=True, help="Say only what is wrong.")
def run_command(
    file: Path,
    ranks: int | None,
    platform: str,
    engine: str,
    device: str | None,
    seed: int,
    schedule: str,
    output_format: str,
    quiet: bool,
) -> int:
    """Check FILE, run its all-reduce, and compare every rank with numpy.

    The Python of FILE outside kernels is executed. The last line is OK when all ranks
    are right.
    """
    del engine  # one so far
    reports = run_file(
        file,
        RunOptions(seed=seed, schedule=Schedule(schedule)),
        num_ranks=_count_devices(device, ranks),
        platform=platform,
    )
    if output_format == "json":
        print_json([_report_to_json(report) for report in reports])
        return 0
    for report in reports:
        print_note(f"{file}: {format_report(report)}", quiet=quiet)
    print_result("OK")
    return 0


def _count_devices(device: str | None, ranks: int | None) -> int | None:
    """How many ranks `-d` names, one a device; `--ranks` where it is not given."""
    if device is None:
        return ranks
    ids = device.split(",")
    if not all(one.strip().isdecimal() for one in ids):
        raise click.UsageError(f"-d: {device!r} is no list of device ids like 0,1,2,3")
    return len(ids)


def format_report(report: RunReport) -> str:
    """What a run moved, in one line."""
    busiest = max(counter.remote_bytes for counter in report.counters)
    return (
        f"{report.num_ranks} ranks x {report.size} elements right on every rank; "
        f"{busiest} remote bytes on the busiest rank"
    )


def _report_to_json(report: RunReport) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "num_ranks": report.num_ranks,
        "calls": report.calls,
        "size": report.size,
        "correct": True,
        "remote_bytes": [counter.remote_bytes for counter in report.counters],
    }
