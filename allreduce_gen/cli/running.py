"""`allreduce-gen run`: checks a file, runs its all-reduces, compares every rank."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import click

from allreduce_gen.engines.base import EngineName, RunOptions, Schedule
from allreduce_gen.engines.mpi import joined_rank
from allreduce_gen.engines.pypto import compile_source
from allreduce_gen.scripts import needs_script
from allreduce_gen.sessions import ScriptOptions
from allreduce_gen.verdicts import CheckedProgram, check_for_run, run_checked

from .ending import as_rank, time_limit
from .flags import format_option, quiet_option
from .output import print_result
from .programs import platform_option, ranks_option
from .ran import Ran, print_ran, refused_as_data
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
    type=WordType([one.value for one in Schedule]),
    default=Schedule.RANDOM.value,
    show_default=True,
    help="In what order the simulator lets ranks run.",
)
@format_option
@quiet_option
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
    job = _Job(
        file=file,
        engine=EngineName(engine),
        platform=platform,
        num_ranks=ranks if devices is None else len(devices),
        options=RunOptions(
            seed=seed, schedule=Schedule(schedule), timeout=timeout, devices=devices
        ),
    )

    def work() -> int:
        if _is_script(job, compile_only=compile_only):
            script = ScriptOptions(num_ranks=job.num_ranks, run=job.options)
            return run_as_script(file, job.engine, script)
        if compile_only:
            return _compile(job)
        ran = as_rank(lambda: _run(job)) if job.is_rank else _run(job)
        if ran is not None:
            print_ran(file, ran, output_format, quiet=quiet)
        return 0

    return refused_as_data(file, output_format, work)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What is run, on what, and how."""

    file: Path
    engine: EngineName
    platform: str
    num_ranks: int | None
    options: RunOptions

    @property
    def is_rank(self) -> bool:
        """Whether this process is one rank of the job that mpiexec started."""
        return self.engine is EngineName.MPI and joined_rank() is not None

    def check(self) -> tuple[CheckedProgram, ...]:
        """The file's programs. Raises CheckError for what is not sound."""
        with time_limit(self.options.timeout):
            return check_for_run(
                self.file, num_ranks=self.num_ranks, platform=self.platform
            )


def _is_script(job: _Job, *, compile_only: bool) -> bool:
    """Whether the file is run as a script: asked for, or there is no other way."""
    if script_arguments() is not None:
        return True
    with time_limit(job.options.timeout):  # to look into the file is to execute it
        return not (compile_only or job.is_rank) and needs_script(job.file)


def _run(job: _Job) -> list[Ran]:
    """The limit holds for checking, and for running; other processes keep it."""
    checked = job.check()
    here = job.engine is EngineName.SIMULATOR
    with time_limit(job.options.timeout) if here else nullcontext():
        return [
            Ran(program=one, report=run_checked(one, job.engine, job.options))
            for one in checked
        ]


def _compile(job: _Job) -> int:
    if job.engine is not EngineName.PYPTO:
        raise click.UsageError("--compile-only needs --engine pypto: no other compiles")
    for one in job.check():
        print_result(str(compile_source(one.source, job.options)))
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
