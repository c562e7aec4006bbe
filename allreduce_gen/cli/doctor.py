"""`allreduce-gen doctor`: what can be used here, and what the real pypto accepts."""

from __future__ import annotations

from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from allreduce_gen.conformance import conform, format_conformance
from allreduce_gen.engines.survey import survey_engines, survey_pypto

from .output import format_table, print_note, print_result


@click.command("doctor")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--conformance", is_flag=True, help="Let the real pypto compile FILES.")
@click.option("--run", "run_them", is_flag=True, help="And run them on its simulator.")
def doctor_command(files: tuple[Path, ...], conformance: bool, run_them: bool) -> int:
    """Show what each engine can do here, and what to install next.

    With --conformance, print as a Markdown page what pypto says to FILES.
    """
    if conformance != bool(files) or (run_them and not conformance):
        raise click.UsageError("FILES, --conformance and --run go together")
    if conformance:
        rows = []
        for row in conform(files, run=run_them):
            print_note(
                f"{row.file}: {', '.join(row.verdicts)} {row.run or ''}".rstrip()
            )
            rows.append(row)
        print_result(format_conformance(rows).removesuffix("\n"))
        return 0
    print_result(f"{_engines()}\n\n{_pypto()}")
    return 0


def _engines() -> str:
    table = Table("engine", "state", "what it gives", "next", box=None)
    for row in survey_engines():
        cells = (row.name, row.state, row.gives, row.next_step)
        table.add_row(*map(escape, cells))
    return format_table(table)


def _pypto() -> str:
    table = Table("part of pypto", "found", box=None)
    for part, found in survey_pypto():
        table.add_row(part, found)
    return format_table(table)
