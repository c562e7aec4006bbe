"""`allreduce-gen check`: proves files sound, or says where they fail."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from allreduce_gen.checks import Collective
from allreduce_gen.diagnostics import codes, diagnose
from allreduce_gen.errors import SpecError
from allreduce_gen.targets import PLATFORMS
from allreduce_gen.verdicts import check_file

from .flags import quiet_option
from .judged import FORMATS, judge_files, print_judged
from .scripting import ScriptCommand, as_script_where_needed
from .words import WordType


def _refuse_no_ranks(
    ctx: click.Context, param: click.Parameter, ranks: int | None
) -> int | None:
    """The number of ranks. Raises SpecError (AR101) for one below 1."""
    if ranks is not None and ranks < 1:
        raise SpecError(
            [
                diagnose(
                    codes.AR101,
                    f"{ranks} ranks; a program runs on at least 1",
                    help="give --ranks 1 or more",
                )
            ]
        )
    return ranks


ranks_option = click.option(
    "--ranks",
    type=int,
    callback=_refuse_no_ranks,
    help="World size, where the file does not say.",
)
platform_option = click.option(
    "-p",
    "--platform",
    type=WordType(list(PLATFORMS)),
    default="a2a3sim",
    show_default=True,
    help="Whose limits hold.",
)


@click.command("check", cls=ScriptCommand)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@ranks_option
@platform_option
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
@click.option(
    "--format",
    "output_format",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="How to print the verdicts.",
)
@quiet_option
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

    The Python of FILES outside kernels is executed. A file without a program at module
    level is run as a script, with the arguments behind `--`, and each program that it
    compiles is checked.
    """
    check = partial(
        check_file,
        num_ranks=ranks,
        num_calls=calls,
        platform=platform,
        collective=None if collective is None else Collective(collective),
    )
    judged = judge_files(files, as_script_where_needed(check, ranks))
    print_judged(judged, output_format, quiet=quiet)
    findings = [finding for one in judged for finding in one.findings]
    # What was not judged is not proved, and --strict wants proof.
    unjudged = any(
        program.collective is None for one in judged for program in one.programs
    )
    refused = any(one.is_error for one in findings)
    return 1 if refused or (strict and (bool(findings) or unjudged)) else 0
