"""`allreduce-gen report`: one HTML page about a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from allreduce_gen.costmodel import load_model
from allreduce_gen.files import write_whole
from allreduce_gen.pipeline import generate
from allreduce_gen.report import format_page

from .flags import STDOUT, output_option, quiet_option
from .options import make_spec, spec_options
from .output import print_diagnostics, print_note, print_result


@click.command("report")
@spec_options
@output_option
@click.option(
    "--ports",
    type=click.Choice(["reader", "both"]),
    default="reader",
    show_default=True,
    help="Whose port a transfer takes in the timeline.",
)
@quiet_option
def report_command(
    output: str, ports: str, quiet: bool, cost_model: Path | None, **spec_flags: Any
) -> int:
    """Write one page: plan, timeline, cost, checks, source."""
    kernel = generate(make_spec(cost_model=cost_model, **spec_flags))
    print_diagnostics(kernel.warnings)
    model = load_model(kernel.spec.platform, cost_model)
    page = format_page(kernel, model, charges_source=ports == "both")
    if output == STDOUT:
        print_result(page.removesuffix("\n"))
        return 0
    write_whole(Path(output), page)
    print_note(f"{output}: {len(page.encode())} bytes", quiet=quiet)
    return 0
