"""`--algorithm auto` and `--cost-model`: a choice by the model, and why, on stderr."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from allreduce_gen.costmodel import choose_algorithm, format_reason, load_model
from allreduce_gen.spec import AllReduceSpec

from .output import print_note
from .words import parse_path

AUTO = "auto"
"""The word of --algorithm that leaves the choice to the cost model."""

cost_model_option = click.option(
    "--cost-model",
    type=parse_path,
    metavar="FILE",
    help="TOML of measured costs, in place of the uncalibrated defaults.",
)


def refuse_unused_costs(spec_flags: Mapping[str, Any]) -> None:
    """Raise UsageError for a cost file of a command that only `auto` makes read it."""
    if spec_flags["cost_model"] is not None and spec_flags["algorithm"] != AUTO:
        raise click.UsageError(
            f"--cost-model is read for --algorithm {AUTO} only: give both, or neither"
        )


def choose(spec: AllReduceSpec, cost_model: Path | None) -> AllReduceSpec:
    """`spec` with the fastest algorithm. Raises SpecError for a bad cost file."""
    choice = choose_algorithm(spec, load_model(spec.platform, cost_model))
    params = click.get_current_context().params
    print_note(format_reason(choice), quiet=params.get("quiet", False))
    return choice.spec
