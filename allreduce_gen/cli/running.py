"""`allreduce-gen run`: checks a file, runs its all-reduces, compares every rank."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from allreduce_gen.diagnostics import SCHEMA_VERSION
from allreduce_gen.diagnostics.wording import plural
from allreduce_gen.engines.all_reduce import RunReport
from allreduce_gen.engines.base import EngineName, RunOptions, Schedule
from allreduce_gen.engines.mpi import joined_rank
from allreduce_gen.engines.pypto import compile_source
from allreduce_gen.scripts import needs_script
from allreduce_gen.sessions import ScriptOptions
from allreduce_gen.verdicts import check_for_run, run_checked

from .ending import as_rank, time_limit
from .inspect import format_option
from .output import print_json, print_note, print_result
from .programs import platform_option, ranks_option
from .scripting import ScriptCommand, run_as_script, script_arguments
from .words import WordType


@click.command("run", cls=ScriptCommand)
@click.argument("file", type=click.Path(path_type=Path))
@ranks_option
@platform_option
@click.option(
    "--engine",
    type=WordType([one.value for one in EngineName]),
    default=EngineName.SIMULATOR.value,
    show_default=True,
    help="What runs it.",
)
@click.option("-d", "--device", help="Comma-separated ids, one a rank.")
@click.option("--compile-only", is_flag=True, help="pypto: stop before its assembler.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds after which checking, or running, is stopped.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the schedule.")
@click.option(
    "--schedule",
    type=click.Choice([one.value for one in Schedule]),
    default=Schedule.RANDOM.value,
    show_default=True,
    help="In what order the simulator lets ranks run.",
)
@format_option
@click.option("-q", "--quiet", is_flag=True, help="Say only what is wrong.")
def run_command(
    file: Path,
    ranks: int | None,
    platform: str,
    engine: str,
    device: str | None,
    compile_only: bool,
    timeout: float | None,
    seed: int,
    schedule: str,
    output_format: str,
    quiet: bool,
) -> int:
    """Check FILE, run its all-reduce, and compare every rank with numpy.

    The Python of FILE outside kernels is executed. The last line is OK when all ranks
    are right. Under mpiexec, `--engine mpi` is one rank of the job; else it starts one.

    `run FILE -- ARGS` runs any script, main() and all, with ARGS as its arguments: its
    programs are checked and simulated, the exit code is the script's own.
    """
    devices = _parse_devices(device)
    num_ranks = ranks if devices is None else len(devices)
    options = RunOptions(
        seed=seed, schedule=Schedule(schedule), timeout=timeout, devices=devices
    )
    name = EngineName(engine)
    is_rank = name is EngineName.MPI and joined_rank() is not None
    with time_limit(timeout):  # to look into the file is to execute it
        is_plain = compile_only or is_rank
        if script_arguments() is not None or (not is_plain and needs_script(file)):
            script = ScriptOptions(num_ranks=num_ranks, run=options)
            return run_as_script(file, name, script)
    if compile_only:
        return _compile(file, name, platform, num_ranks, options)
    if is_rank:
        reports = as_rank(lambda: _run(file, name, platform, num_ranks, options))
    else:
        reports = _run(file, name, platform, num_ranks, options)
    if reports is not None:
        _print_reports(file, reports, output_format, quiet)
    return 0


def _run(
    file: Path,
    engine: EngineName,
    platform: str,
    num_ranks: int | None,
    options: RunOptions,
) -> tuple[RunReport, ...]:
    """The limit holds for checking, and for running; other processes keep it."""
    with time_limit(options.timeout):
        checked = check_for_run(file, num_ranks=num_ranks, platform=platform)
    here = engine is EngineName.SIMULATOR
    with time_limit(options.timeout) if here else nullcontext():
        return tuple(run_checked(one, engine, options) for one in checked)


def _compile(
    file: Path,
    engine: EngineName,
    platform: str,
    num_ranks: int | None,
    options: RunOptions,
) -> int:
    if engine is not EngineName.PYPTO:
        raise click.UsageError("--compile-only needs --engine pypto: no other compiles")
    with time_limit(options.timeout):
        checked = check_for_run(file, num_ranks=num_ranks, platform=platform)
    for one in checked:
        print_result(str(compile_source(one.source, options)))
    return 0


def _parse_devices(device: str | None) -> tuple[int, ...] | None:
    """The ids that `-d` names, one a rank."""
    if device is None:
        return None
    ids = [one.strip() for one in device.split(",")]
    if not all(one.isdecimal() for one in ids):
        raise click.UsageError(f"-d: {device!r} is no list of device ids like 0,1,2,3")
    if len(set(ids)) != len(ids):
        raise click.UsageError(
            f"-d: {device!r} names a device twice; each rank has its own"
        )
    return tuple(map(int, ids))


def _print_reports(
    file: Path, reports: tuple[RunReport, ...], output_format: str, quiet: bool
) -> None:
    if output_format == "json":
        print_json([_report_to_json(report) for report in reports])
        return
    for report in reports:
        print_note(f"{file}: {format_report(report)}", quiet=quiet)
    print_result("OK")


def format_report(report: RunReport) -> str:
    """What a run moved, in one line."""
    busiest = max(counter.remote_bytes for counter in report.counters)
    return (
        f"{plural(report.num_ranks, 'rank')} x {plural(report.size, 'element')} "
        "right on every rank; "
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
        "events": sum(counter.events for counter in report.counters),
        "notifies": sum(counter.notifies for counter in report.counters),
        "waits": sum(counter.waits for counter in report.counters),
    }
