"""Time against size, as a picture. The only part that needs matplotlib."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allreduce_gen.costmodel import (
    CostModel,
    Crossover,
    Problem,
    closed_form,
    lower_bounds,
)
from allreduce_gen.diagnostics.wording import plural
from allreduce_gen.spec import Algorithm, AllReduceSpec

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 160
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "allreduce-gen",  # the same picture is the same file
    "svg.fonttype": "none",
    "font.size": 9.0,
}
_MARGIN = 8.0
"""How many times beyond the smallest and largest size the picture goes."""


def plot_times(
    path: Path,
    spec: AllReduceSpec,
    sizes_bytes: Sequence[float],
    algorithms: Iterable[Algorithm],
    crossovers: Iterable[Crossover],
    model: CostModel,
) -> None:
    """Write a picture of the closed forms to `path`: PNG, SVG or PDF by its suffix.

    The axis covers `sizes_bytes` and the crossovers. Raises ImportError where
    matplotlib is missing, ValueError for an unknown suffix, OSError as writing does.
    """
    import matplotlib
    from matplotlib.figure import Figure

    marks = tuple(crossovers)
    sizes = _spread([*sizes_bytes, *(one.vector_bytes for one in marks)])
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(9.2, 5.2), layout="constrained")
        axes = figure.add_subplot(yscale="log")
        axes.set_xscale("log", base=2)
        for number, algorithm in enumerate(algorithms):
            _draw_line(axes, number, algorithm, spec, sizes, model)
        bottom, top = axes.get_ylim()  # the bound may fall far below all of them
        _draw_bound(axes, spec, sizes, model)
        for crossover in marks:
            _draw_crossover(axes, crossover, spec, model)
        axes.set_ylim(bottom / 3, top)
        _label(axes, spec, model)
        figure.savefig(path, dpi=144, metadata=_no_date(path))


def _spread(sizes: Sequence[float]) -> list[float]:
    """Sizes at even steps of their logarithm, around all of `sizes`."""
    low = math.log2(max(min(sizes) / _MARGIN, 32))
    high = math.log2(max(sizes) * _MARGIN)
    return [2 ** (low + (high - low) * at / (_POINTS - 1)) for at in range(_POINTS)]


def _seconds(
    spec: AllReduceSpec, algorithm: Algorithm, size: float, model: CostModel
) -> float:
    chosen = replace(spec, algorithm=algorithm)
    return closed_form(Problem(spec=chosen, moved_bytes=size)).seconds(model)


def _draw_line(
    axes: Axes,
    number: int,
    algorithm: Algorithm,
    spec: AllReduceSpec,
    sizes: Sequence[float],
    model: CostModel,
) -> None:
    times = [_seconds(spec, algorithm, size, model) * 1e6 for size in sizes]
    dash = ("-", "--", "-.")[number // 5 % 3]
    axes.plot(sizes, times, dash, color=f"C{number}", label=algorithm.value)


def _draw_bound(
    axes: Axes, spec: AllReduceSpec, sizes: Sequence[float], model: CostModel
) -> None:
    bounds = (lower_bounds(Problem(spec=spec, moved_bytes=size)) for size in sizes)
    times = [one.seconds(model)["bandwidth"] * 1e6 for one in bounds]
    axes.plot(sizes, times, ":", color="grey", label="bandwidth bound")


def _draw_crossover(
    axes: Axes, crossover: Crossover, spec: AllReduceSpec, model: CostModel
) -> None:
    size = crossover.vector_bytes
    time = _seconds(spec, crossover.after, size, model) * 1e6
    axes.axvline(size, color="grey", linewidth=0.6)
    axes.plot([size], [time], "o", color="black", markersize=5)
    axes.annotate(
        f"{crossover.before.value}\nto {crossover.after.value}\n{format_bytes(size)}",
        (size, time),
        xytext=(6, -6),
        textcoords="offset points",
        verticalalignment="top",
        fontsize=8,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
    )


def _label(axes: Axes, spec: AllReduceSpec, model: CostModel) -> None:
    axes.xaxis.set_major_formatter(lambda size, _: format_bytes(size))
    axes.set_xlabel("vector of a rank")
    axes.set_ylabel("modelled time, us")
    axes.set_title(
        f"{plural(spec.num_ranks, 'rank')}, {spec.dtype.value} {spec.op.value}, "
        f"{spec.platform}: "
        f"{model.state} numbers"
    )
    axes.grid(visible=True, which="major", alpha=0.25)
    axes.figure.legend(frameon=False, loc="outside right upper")


def format_bytes(size: float) -> str:
    """`4.2 KiB`."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size:.3g} B"


def _no_date(path: Path) -> dict[str, Any]:
    dated = {".svg": "Date", ".pdf": "CreationDate"}
    key = dated.get(path.suffix)
    return {key: None} if key else {}
