"""The command line's frame: the default command, and what each ending means.

Exit codes: 0 done, 1 refused or wrong, 2 the command line itself, 3 the engine is not
available or would not compile, 70 a fault of ours, 130 interrupted.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence

import click

from allreduce_gen.diagnostics import Diagnostic, codes, diagnose
from allreduce_gen.errors import (
    AllReduceGenError,
    InternalError,
)

from .bench import bench_command
from .calibrate import calibrate_command
from .compare import compare_command
from .doctor import doctor_command
from .emit import emit_command
from .ending import DONE, INTERRUPTED, OUR_FAULT, REFUSED, USAGE, exit_code
from .inspect import explain_command, plan_command
from .output import StdoutError, print_diagnostics, print_note
from .programs import check_command
from .report import report_command
from .running import run_command


class _DefaultCommand(click.Group):
    """A group whose `emit` needs no name: `allreduce-gen --ranks 4 --size 4096`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args:
            print_note(ctx.get_help())
            ctx.exit(USAGE)
        if args and args[0].startswith("-") and args[0] not in ("--help", "--version"):
            args = ["emit", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_DefaultCommand)
@click.version_option(package_name="allreduce-gen")
def cli() -> None:
    """Generate, prove and run specialised all-reduce kernels for pypto.

    Without a command name, the flags are those of `emit`.
    """


for _command in (
    emit_command,
    plan_command,
    check_command,
    run_command,
    compare_command,
    calibrate_command,
    report_command,
    explain_command,
    doctor_command,
    bench_command,
):
    cli.add_command(_command)


def main(args: Sequence[str] | None = None) -> None:
    """The console script."""
    sys.exit(run_cli(args))


def run_cli(args: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; no exception leaves."""
    try:
        code = cli.main(args=args, prog_name="allreduce-gen", standalone_mode=False)
    except click.UsageError as error:
        return _usage(error)
    except (KeyboardInterrupt, click.Abort):
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    except InternalError as error:
        traceback.print_exc()
        print_diagnostics(error.diagnostics)
        return OUR_FAULT
    except AllReduceGenError as error:
        print_diagnostics(error.diagnostics)
        return exit_code(error)
    except SystemExit:  # click's, where the reader of a help text has gone
        return DONE
    except StdoutError as error:
        return _unwritten(error)
    except Exception as error:  # whatever is left is our bug, and says so
        traceback.print_exc()
        print_diagnostics([_invariant(error)])
        return OUR_FAULT
    return code if isinstance(code, int) else DONE


def _usage(error: click.UsageError) -> int:
    command = error.ctx.command_path if error.ctx else "allreduce-gen"
    diagnostic = diagnose(
        codes.AR107,
        error.format_message().rstrip("."),
        help=f"see {command} --help",
    )
    print_diagnostics([diagnostic])
    return USAGE


def _unwritten(error: StdoutError) -> int:
    print_diagnostics(
        [
            diagnose(
                codes.AR604,
                str(error),
                help="send stdout to a file or a pipe that takes all of it",
            )
        ]
    )
    return REFUSED


def _invariant(error: Exception) -> Diagnostic:
    return diagnose(
        codes.AR901,
        f"{type(error).__name__}: {error}",
        help="this is a fault of allreduce-gen: please report the traceback above",
    )
