"""`allreduce-gen bench`: measures this machine against what is promised."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

import click
from rich.table import Table

from allreduce_gen.bench.checks import CheckTime, measure_checks
from allreduce_gen.bench.sweep import run_sweep, sweep_specs
from allreduce_gen.diagnostics import SCHEMA_VERSION
from allreduce_gen.spec import Algorithm

from .flags import format_option, is_given, refuse_both
from .output import format_table, print_json, print_note, print_result
from .words import WordType


@click.command("bench")
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Runs of each case; the median counts.",
)
@click.option(
    "--sweep",
    is_flag=True,
    help="Instead run every size, rank count, type, operator, reuse and window mode.",
)
@click.option(
    "--algorithm",
    type=WordType([one.value for one in Algorithm]),
    default=Algorithm.TWO_PHASE.value,
    show_default=True,
    help="Whose kernels the sweep runs.",
)
@format_option
def bench_command(repeats: int, sweep: bool, algorithm: str, output_format: str) -> int:
    """Time `check` of two-phase files; exit 1 where it takes longer than promised."""
    if sweep:
        refuse_both("--repeats", is_given("repeats"), "--sweep", sweep)
        return _sweep(Algorithm(algorithm), output_format)
    if is_given("algorithm"):
        raise click.UsageError("--algorithm is the sweep's: give --sweep too")
    times = list(measure_checks(repeats))
    if output_format == "json":
        checks = [asdict(one) | {"is_within": one.is_within} for one in times]
        print_json({"schema_version": SCHEMA_VERSION, "checks": checks})
    else:
        print_result(format_table(_table(times)))
    return 0 if all(one.is_within for one in times) else 1


def _sweep(algorithm: Algorithm, output_format: str) -> int:
    """Count what became of every cell; exit 1 where one was wrong."""
    counts: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for cell in run_sweep(sweep_specs(algorithms=(algorithm,))):
        counts[cell.outcome, cell.codes] += 1
        if cell.outcome == "wrong":
            print_note(f"{cell.spec.name}: {', '.join(cell.codes)}: {cell.message}")
    if output_format == "json":
        cells = [
            {"outcome": outcome, "codes": list(found), "cells": count}
            for (outcome, found), count in counts.items()
        ]
        print_json({"schema_version": SCHEMA_VERSION, "sweep": cells})
    else:
        for (outcome, found), count in counts.items():
            print_result(f"{count:7} {outcome} {' '.join(found)}".rstrip())
    return 1 if any(outcome == "wrong" for outcome, _ in counts) else 0


def _table(times: list[CheckTime]) -> Table:
    heads = ("check of two_phase", "vector", "median", "CPU", "allowed", "peak memory")
    table = Table(*heads, box=None)
    for one in times:
        table.add_row(
            f"{one.num_ranks} ranks",
            f"{one.size_bytes // 1024} KiB",
            f"{one.seconds:.3f} s",
            f"{one.cpu_seconds:.3f} s",
            f"{one.limit_seconds:.1f} s",
            f"{one.peak_bytes // 1024**2} MiB",
        )
    return table
