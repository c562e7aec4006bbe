"""`allreduce-gen calibrate`: a cost file from timed runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from allreduce_gen.calibration import Calibration, calibrate
from allreduce_gen.costmodel import Fit, Sample, format_model, format_seconds
from allreduce_gen.engines.base import EngineName
from allreduce_gen.files import write_whole
from allreduce_gen.targets import PLATFORMS

from .flags import STDOUT, output_option, quiet_option
from .output import print_note, print_result
from .words import WordType, parse_sizes, parse_world_sizes


@click.command("calibrate")
@click.option(
    "--engine",
    type=WordType([one.value for one in EngineName]),
    default=EngineName.SIMULATOR.value,
    show_default=True,
    help="What is timed.",
)
@click.option(
    "--platform",
    type=WordType(list(PLATFORMS)),
    default="a2a3sim",
    show_default=True,
    help="Whose numbers these are.",
)
@click.option(
    "--ranks",
    type=parse_world_sizes,
    metavar="P,P",
    default="2,4,8",
    show_default=True,
    help="World sizes to time.",
)
@click.option(
    "--sizes",
    type=parse_sizes,
    metavar="N,N",
    default="1K,16K,256K",
    show_default=True,
    help="Elements a rank to time.",
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Runs of each kernel; the shortest counts.",
)
@output_option
@quiet_option
def calibrate_command(
    engine: str,
    platform: str,
    ranks: tuple[int, ...],
    sizes: tuple[int, ...],
    repeats: int,
    output: str,
    quiet: bool,
) -> int:
    """Time every algorithm on an engine and fit the cost model to it."""
    try:
        done = calibrate(
            EngineName(engine),
            platform,
            ranks=ranks,
            sizes=sizes,
            repeats=repeats,
            tell=lambda one: print_note(_timing(one), quiet=quiet),
        )
    except ValueError as error:
        raise click.UsageError(f"{error}: give more --ranks or --sizes") from error
    except ImportError as error:
        raise click.UsageError(f"--engine {engine} needs {error.name}") from error
    summary = tuple(_summary(done))
    text = format_model([done.fit.model], [*summary, *_table(done.fit)])
    if output == STDOUT:
        print_result(text.removesuffix("\n"))
    else:
        write_whole(Path(output), text)
    for line in summary:
        print_note(line, quiet=quiet)
    return 0


def _timing(one: Sample) -> str:
    """What is said of a kernel as soon as it is timed."""
    return f"{one.name}: {format_seconds(max(one.seconds, 0.0))} a call"


def _summary(done: Calibration) -> Iterator[str]:
    """How well the model fits, in a few lines."""
    fit = done.fit
    yield f"{fit.model.source}: {len(fit.samples)} kernels"
    yield (
        f"fit: R2 {fit.r_squared:.4f}, median error {fit.median_error:.1%}, "
        f"worst {fit.worst_error:.1%}"
    )
    if fit.unseen:
        yield f"zero, for these runs do not show them: {', '.join(fit.unseen)}"
    if done.lost:
        yield f"left out, no slower than their start: {', '.join(done.lost)}"


def _table(fit: Fit) -> Iterator[str]:
    """Each kernel's measured and modelled time."""
    yield ""
    for one, error in zip(fit.samples, fit.errors, strict=True):
        modelled = format_seconds(one.terms.seconds(fit.model))
        yield (
            f"{one.name}: measured {format_seconds(one.seconds)}, "
            f"modelled {modelled} ({error:+.1%})"
        )
    yield ""
