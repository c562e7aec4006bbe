"""`allreduce-gen bench`: measures this machine against what is promised."""

from __future__ import annotations

from dataclasses import asdict

import click
from rich.table import Table

from allreduce_gen.bench.checks import CheckTime, measure_checks
from allreduce_gen.diagnostics import SCHEMA_VERSION

from .inspect import format_option
from .output import format_table, print_json, print_result


@click.command("bench")
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Runs of each case; the median counts.",
)
@format_option
def bench_command(repeats: int, output_format: str) -> int:
    """Time `check` of two-phase files; exit 1 where it takes longer than promised."""
    times = list(measure_checks(repeats))
    if output_format == "json":
        checks = [asdict(one) | {"is_within": one.is_within} for one in times]
        print_json({"schema_version": SCHEMA_VERSION, "checks": checks})
    else:
        print_result(format_table(_table(times)))
    return 0 if all(one.is_within for one in times) else 1


def _table(times: list[CheckTime]) -> Table:
    table = Table(
        "check of two_phase", "vector", "median", "allowed", "peak memory", box=None
    )
    for one in times:
        table.add_row(
            f"{one.num_ranks} ranks",
            f"{one.size_bytes // 1024} KiB",
            f"{one.seconds:.3f} s",
            f"{one.limit_seconds:.1f} s",
            f"{one.peak_bytes // 1024**2} MiB",
        )
    return table
