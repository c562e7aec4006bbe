"""`allreduce-gen emit`: plan, prove, write; and on request run, or compare a file."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Any

import click

from allreduce_gen.checks import certify
from allreduce_gen.diagnostics import SCHEMA_VERSION
from allreduce_gen.engines.base import RunOptions
from allreduce_gen.ir.printers import format_plan
from allreduce_gen.kernel import Kernel, write_whole
from allreduce_gen.pipeline import generate
from allreduce_gen.verdicts import run_file

from .options import make_spec, spec_options
from .output import print_diagnostics, print_note, print_result
from .running import format_report

_STDOUT = "-"


@click.command("emit")
@spec_options
@click.option("-o", "--output", default=_STDOUT, help="File to write; - is stdout.")
@click.option("--run", "run_it", is_flag=True, help="Then run it on the simulator.")
@click.option("--check-only", is_flag=True, help="Compare with the file only.")
@click.option(
    "--certificate",
    type=click.Path(path_type=Path),
    help="File for the reduction expression of every range, and its hash.",
)
@click.option("-q", "--quiet", is_flag=True, help="Say only what is wrong.")
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
    _refuse_stdout_with(output, run_it=run_it, check_only=check_only)
    kernel = generate(make_spec(**spec_flags))
    print_diagnostics(kernel.warnings)
    print_note(format_plan(kernel.plan, kernel.cost), quiet=not verbose)
    if check_only:
        return _compare(kernel, Path(output), quiet)
    if certificate is not None:
        write_whole(certificate, _format_certificate(kernel))
    if output == _STDOUT:
        print_result(kernel.source.removesuffix("\n"))
        return 0
    kernel.write(Path(output))
    print_note(f"{output}: {_summary(kernel)}", quiet=quiet)
    if run_it:
        (report,) = run_file(Path(output), RunOptions(), platform=kernel.spec.platform)
        print_note(f"{output}: {format_report(report)}", quiet=quiet)
        print_result("OK")
    return 0


def _format_certificate(kernel: Kernel) -> str:
    """The certificate as JSON: per range, the expression and every rank's hash."""
    ranges = [
        {
            "output": one.output,
            "start": one.start,
            "stop": one.stop,
            "expression": one.expression,
            "ranks_agree": one.agrees,
            "sha256": list(dict.fromkeys(one.digests)),
        }
        for one in certify(kernel.trace)
    ]
    data = {
        "schema_version": SCHEMA_VERSION,
        "kernel": kernel.spec.name,
        "num_ranks": kernel.spec.num_ranks,
        "ranges": ranges,
    }
    return json.dumps(data, indent=2) + "\n"


def _refuse_stdout_with(output: str, *, run_it: bool, check_only: bool) -> None:
    for flag, given in (("--run", run_it), ("--check-only", check_only)):
        if given and output == _STDOUT:
            raise click.UsageError(f"{flag} needs a file: give -o FILE")


def _summary(kernel: Kernel) -> str:
    spec, cost = kernel.spec, kernel.cost
    return (
        f"{spec.algorithm.value}, {spec.num_ranks} ranks, {spec.size} "
        f"{spec.dtype.value}; {cost.remote_bytes} remote bytes a rank; proved"
    )


def _compare(kernel: Kernel, path: Path, quiet: bool) -> int:
    """0 where `path` holds what would be written, else its difference and 1."""
    seen = path.read_text(encoding="utf-8") if path.is_file() else ""
    if seen == kernel.source:
        print_note(f"{path}: up to date", quiet=quiet)
        return 0
    diff = difflib.unified_diff(
        seen.splitlines(keepends=True),
        kernel.source.splitlines(keepends=True),
        fromfile=str(path),
        tofile=f"{path} (as emitted)",
    )
    print_result("".join(diff).removesuffix("\n"))
    return 1
