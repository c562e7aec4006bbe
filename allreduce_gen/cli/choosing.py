"""`--algorithm auto` and `--cost-model`: a choice by the model, and why, on stderr."""

from __future__ import annotations

from pathlib import Path

import click

from allreduce_gen.costmodel import choose_algorithm, format_reason, load_model
from allreduce_gen.spec import AllReduceSpec

from .output import print_note

AUTO = "auto"
"""The word of --algorithm that leaves the choice to the cost model."""

cost_model_option = click.option(
    "--cost-model",
    type=click.Path(path_type=Path),
    help="TOML of measured costs, in place of the uncalibrated defaults.",
)


def choose(spec: AllReduceSpec, cost_model: Path | None) -> AllReduceSpec:
    """`spec` with the fastest algorithm. Raises SpecError for a bad cost file."""
    choice = choose_algorithm(spec, load_model(spec.platform, cost_model))
    params = click.get_current_context().params
    print_note(format_reason(choice), quiet=params.get("quiet", False))
    return choice.spec
