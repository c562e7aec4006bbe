"""Commands that only look: plan, explain."""

from __future__ import annotations

from typing import Any

import click

from allreduce_gen.diagnostics import CODES, find_code, format_code
from allreduce_gen.ir.printers import format_plan, plan_to_json
from allreduce_gen.pipeline import generate

from .choosing import refuse_unused_costs
from .flags import format_option
from .options import make_spec, spec_options
from .output import print_json, print_result


@click.command("plan")
@spec_options
@format_option
def plan_command(output_format: str, **spec_flags: Any) -> int:
    """Print the plan: constants, windows, steps, edges, cost."""
    refuse_unused_costs(spec_flags)
    kernel = generate(make_spec(**spec_flags))
    if output_format == "json":
        print_json(plan_to_json(kernel.plan, kernel.cost))
    else:
        print_result(format_plan(kernel.plan, kernel.cost))
    return 0


@click.command("explain")
@click.argument("code", required=False)
def explain_command(code: str | None) -> int:
    """Say what a diagnostic code means; without one, list them all."""
    if code is None:
        for known in CODES.values():
            print_result(f"{known.id}  {known.severity.value:<7}  {known.name}")
        return 0
    found = find_code(code)
    if found is None:
        raise click.UsageError(f"no code {code!r}; allreduce-gen explain lists them")
    print_result(format_code(found))
    return 0
