"""Flags that several commands share, and flags that exclude each other."""

from __future__ import annotations

import click

from .words import parse_name

STDOUT = "-"
"""What `-o` calls standard output."""

output_option = click.option(
    "-o",
    "--output",
    type=parse_name,
    default=STDOUT,
    metavar="FILE",
    help="File to write; - is stdout.",
)

quiet_option = click.option(
    "-q", "--quiet", is_flag=True, help="Say only what is wrong."
)

format_option = click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print the result.",
)


def refuse_both(one: str, has_one: bool, other: str, has_other: bool) -> None:
    """Raise UsageError where both of two flags are given that contradict each other."""
    if has_one and has_other:
        raise click.UsageError(f"{one} and {other} exclude each other: give one")


def is_given(name: str) -> bool:
    """Whether the command line itself, and no default, says the parameter `name`."""
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE
