"""`allreduce-gen emit`: plan, prove, write; and on request run, or compare a file."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import click

from allreduce_gen.diagnostics.wording import plural
from allreduce_gen.engines.base import RunOptions
from allreduce_gen.files import NewFile, write_together
from allreduce_gen.ir.printers import format_plan
from allreduce_gen.kernel import Kernel
from allreduce_gen.pipeline import generate
from allreduce_gen.verdicts import run_file

from .certificate import format_certificate
from .choosing import refuse_unused_costs
from .flags import STDOUT, output_option, quiet_option, refuse_both
from .options import make_spec, spec_options
from .output import print_diagnostics, print_note, print_result
from .ran import format_report
from .words import parse_path


@click.command("emit")
@spec_options
@output_option
@click.option("--run", "run_it", is_flag=True, help="Then run it on the simulator.")
@click.option("--check-only", is_flag=True, help="Compare with the file only.")
@click.option(
    "--certificate",
    type=parse_path,
    metavar="FILE",
    help="File for the reduction expression of every range, and its hash.",
)
@quiet_option
@click.option("-v", "--verbose", is_flag=True, help="Show the plan too.")
def emit_command(
    output: str,
    run_it: bool,
    check_only: bool,
    certificate: Path | None,
    quiet: bool,
    verbose: bool,
    **spec_flags: Any,
) -> int:
    """Emit a proved kernel (the default command)."""
    refuse_both("-q", quiet, "-v", verbose)
    refuse_both("--run", run_it, "--check-only", check_only)
    refuse_unused_costs(spec_flags)
    _refuse_stdout_with(output, run_it=run_it, check_only=check_only)
    _refuse_certificate(certificate, output)
    kernel = generate(make_spec(**spec_flags))
    print_diagnostics(kernel.warnings)
    print_note(format_plan(kernel.plan, kernel.cost), quiet=not verbose)
    files = _files(kernel, output, certificate)
    if check_only:
        return max([_compare(one, quiet) for one in files])
    write_together(*files)
    if output == STDOUT:
        print_result(kernel.source.removesuffix("\n"))
        return 0
    print_note(f"{output}: {_summary(kernel)}", quiet=quiet)
    if run_it:
        (report,) = run_file(Path(output), RunOptions(), platform=kernel.spec.platform)
        print_note(f"{output}: {format_report(report)}", quiet=quiet)
        print_result("OK")
    return 0


def _files(kernel: Kernel, output: str, certificate: Path | None) -> list[NewFile]:
    """What is to be written, but for what goes to stdout."""
    files = []
    if output != STDOUT:
        files.append(NewFile(path=Path(output), text=kernel.source))
    if certificate is not None:
        text = format_certificate(kernel)
        files.append(NewFile(path=certificate, text=text, flag="--certificate"))
    return files


def _refuse_certificate(certificate: Path | None, output: str) -> None:
    """The certificate is a file, and one of its own."""
    if certificate is None:
        return
    if str(certificate) == STDOUT:
        raise click.UsageError("--certificate needs a file: stdout is the kernel's")
    if output != STDOUT and certificate.resolve() == Path(output).resolve():
        raise click.UsageError(f"-o and --certificate both name {certificate}")


def _refuse_stdout_with(output: str, *, run_it: bool, check_only: bool) -> None:
    for flag, given in (("--run", run_it), ("--check-only", check_only)):
        if given and output == STDOUT:
            raise click.UsageError(f"{flag} needs a file: give -o FILE")


def _summary(kernel: Kernel) -> str:
    spec, cost = kernel.spec, kernel.cost
    return (
        f"{spec.algorithm.value}, {plural(spec.num_ranks, 'rank')}, {spec.size} "
        f"{spec.dtype.value}; {cost.remote_bytes} remote bytes a rank; proved"
    )


def _compare(file: NewFile, quiet: bool) -> int:
    """0 where the file holds what would be written, else its difference and 1."""
    path = file.path
    seen = path.read_text(encoding="utf-8") if path.is_file() else ""
    if seen == file.text:
        print_note(f"{path}: up to date", quiet=quiet)
        return 0
    diff = difflib.unified_diff(
        seen.splitlines(keepends=True),
        file.text.splitlines(keepends=True),
        fromfile=str(path),
        tofile=f"{path} (as emitted)",
    )
    print_result("".join(diff).removesuffix("\n"))
    return 1
