"""Scripts on the command line: `allreduce-gen run script.py -- ARGS`, and check."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path

import click

from allreduce_gen.engines.base import EngineName
from allreduce_gen.errors import AllReduceGenError
from allreduce_gen.scripts import check_script, needs_script, run_script
from allreduce_gen.sessions import ScriptOptions
from allreduce_gen.verdicts import CheckedProgram

from .output import print_note

_META = "allreduce_gen.script_arguments"


class ScriptCommand(click.Command):
    """A command that leaves what stands behind `--` to the script."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[_META] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)


def script_arguments() -> tuple[str, ...] | None:
    """What stands behind `--`; None where there is no `--`."""
    found: tuple[str, ...] | None = click.get_current_context().meta.get(_META)
    return found


_Check = Callable[[Path], tuple[CheckedProgram, ...]]


def as_script_where_needed(check: _Check, num_ranks: int | None) -> _Check:
    """`check`, but files are executed where arguments are given or nothing else helps.

    A file needs that where it has no program at module level.
    """
    arguments = script_arguments()

    def check_either(path: Path) -> tuple[CheckedProgram, ...]:
        if arguments is None and not needs_script(path):
            return check(path)
        options = ScriptOptions(num_ranks=num_ranks)
        return check_script(path, arguments or (), options)

    return check_either


def run_as_script(file: Path, engine: EngineName, options: ScriptOptions) -> int:
    """Run the script and give its exit code; what it raises is printed as Python does.

    Raises AllReduceGenError for a program that is refused or fails, and where the
    script gets no arguments and compiles no program.
    """
    if engine is not EngineName.SIMULATOR:
        raise click.UsageError(
            f"--engine {engine.value} runs no scripts: run them with python"
        )
    arguments = script_arguments()
    try:
        run_script(file, arguments or (), options, wants_program=arguments is None)
    except SystemExit as end:
        return _exit_code(end)
    except AllReduceGenError:
        raise
    except Exception as error:
        print_note("".join(traceback.format_exception(error)).rstrip())
        return 1
    return 0


def _exit_code(end: SystemExit) -> int:
    """The number that a process ends with; text is printed, as Python prints it."""
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print_note(end.code)
    return 1
