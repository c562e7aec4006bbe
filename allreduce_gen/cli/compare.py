"""`allreduce-gen compare`: what every algorithm costs for a spec."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from allreduce_gen.costmodel import Crossover, find_crossovers, load_model
from allreduce_gen.errors import SpecError
from allreduce_gen.pipeline import refuse
from allreduce_gen.planner import check_spec
from allreduce_gen.report import (
    Comparison,
    compare_algorithms,
    comparisons_to_json,
    format_comparison,
    format_crossovers,
)
from allreduce_gen.report.plot import plot_times

from .flags import format_option
from .options import common_options, make_spec
from .output import print_json, print_note, print_result
from .words import parse_picture, parse_sizes


@click.command("compare")
@common_options
@click.option(
    "--sizes", type=parse_sizes, metavar="N,N", help="Several sizes: 1K,64K,1M."
)
@click.option(
    "--plot",
    type=parse_picture,
    metavar="FILE",
    help="Time against size as PNG, SVG or PDF.",
)
@format_option
def compare_command(
    sizes: tuple[int, ...] | None,
    plot: Path | None,
    output_format: str,
    cost_model: Path | None,
    **spec_flags: Any,
) -> int:
    """Make a spec with every algorithm, and print what each costs."""
    size, shape = spec_flags.pop("size"), spec_flags.pop("shape")
    if sizes is not None and (size is not None or shape is not None):
        raise click.UsageError("--sizes stands in place of --size and --shape")
    spec = make_spec(size=sizes[0] if sizes else size, shape=shape, **spec_flags)
    for each in sizes or (spec.size,):  # an algorithm without groups has a row for it
        refuse(SpecError, check_spec(replace(spec, size=each, groups=None)))
    model = load_model(spec.platform, cost_model)
    compared = [
        compare_algorithms(replace(spec, size=each), model)
        for each in sizes or (spec.size,)
    ]
    made = [one.algorithm for one in compared[0].rows if one.counted is not None]
    crossovers = find_crossovers(spec, made, model) if made else ()
    if output_format == "json":
        print_json(comparisons_to_json(compared, crossovers))
    else:
        _print_tables(compared, crossovers)
    if plot is not None:
        _plot(plot, compared, crossovers)
    return 0 if made else 1


def _print_tables(
    compared: list[Comparison], crossovers: tuple[Crossover, ...]
) -> None:
    parts = [format_comparison(one) for one in compared]
    if crossovers:
        parts.append(format_crossovers(crossovers))
    print_result("\n\n".join(parts))


def _plot(
    path: Path, compared: list[Comparison], crossovers: tuple[Crossover, ...]
) -> None:
    first = compared[0]
    try:
        plot_times(
            path,
            first.spec,
            [one.spec.size_bytes for one in compared],
            [one.algorithm for one in first.rows if one.counted is not None],
            crossovers,
            first.model,
        )
    except ImportError as error:
        raise click.UsageError(
            "--plot needs matplotlib: pip install 'allreduce-gen[plot]'"
        ) from error
    except OSError as error:
        raise click.UsageError(f"--plot {path}: {error}") from error
    print_note(f"{path}: written")
