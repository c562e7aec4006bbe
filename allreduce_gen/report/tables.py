"""Comparisons as text and as data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from allreduce_gen.costmodel import COEFFICIENTS, Crossover, format_seconds
from allreduce_gen.diagnostics.wording import plural

from .comparison import ComparedAlgorithm, Comparison

SCHEMA_VERSION = 1

_HEAD = (
    "algorithm",
    "remote B",
    "x bound",
    "rounds",
    "notifies",
    "rows",
    "window B",
    "UB B",
    "model",
    "replay",
    "both ports",
    "checks",
)


def format_comparison(comparison: Comparison) -> str:
    """A table, one line an algorithm; the fastest has a star."""
    spec, model = comparison.spec, comparison.model
    title = (
        f"{spec.op.value} of {plural(spec.size, f'{spec.dtype.value} element')} "
        f"({spec.size_bytes} B) over {plural(spec.num_ranks, 'rank')}, "
        f"for {spec.platform}"
    )
    rows = [_row(one, comparison) for one in comparison.rows]
    times = f"times: {model.state} numbers from {model.source}"
    return "\n".join((title, *_align((_HEAD, *rows)), _bounds(comparison), times))


def format_crossovers(crossovers: Iterable[Crossover]) -> str:
    """Where the fastest algorithm changes, one line each."""
    return "\n".join(
        f"from {one.vector_bytes:.0f} B a rank on: {one.after.value} "
        f"is faster than {one.before.value}"
        for one in crossovers
    )


def comparisons_to_json(
    comparisons: Sequence[Comparison], crossovers: Iterable[Crossover]
) -> dict[str, Any]:
    """Plain data: bytes, counts, and times in seconds."""
    return {
        "schema_version": SCHEMA_VERSION,
        "model": _model(comparisons[0]),
        "sizes": [_size(one) for one in comparisons],
        "crossovers": [
            {
                "vector_bytes": one.vector_bytes,
                "before": one.before.value,
                "after": one.after.value,
            }
            for one in crossovers
        ],
    }


def _row(one: ComparedAlgorithm, comparison: Comparison) -> tuple[str, ...]:
    star = " *" if one.algorithm is comparison.fastest else ""
    name = f"{one.algorithm.value}{star}"
    if one.counted is None:
        return name, *[""] * (len(_HEAD) - 2), one.verdict
    cost = one.counted.cost
    counts = (
        one.counted.rounds,
        cost.notifies,
        one.counted.num_rows,
        cost.window_bytes,
        cost.ub_bytes,
    )
    times = (one.counted.model_s, one.counted.replay_s, one.counted.replay_both_s)
    return (
        name,
        str(cost.remote_bytes),
        _ratio(cost.remote_bytes, cost.bound_bytes),
        *map(str, counts),
        *map(format_seconds, times),
        one.verdict,
    )


def _ratio(remote_bytes: float, bound_bytes: float) -> str:
    """How many times the bound; one rank moves nothing, and has none."""
    return f"{remote_bytes / bound_bytes:.3f}" if bound_bytes else "-"


def _bounds(comparison: Comparison) -> str:
    bounds = comparison.bounds
    times = bounds.seconds(comparison.model)
    return (
        f"lower bounds, one port: {plural(bounds.rounds, 'round')} "
        f"of one peer each {format_seconds(times['latency'])}, "
        f"{bounds.remote_bytes:.0f} B {format_seconds(times['bandwidth'])}, reducing "
        f"{format_seconds(times['compute'])}"
    )


def _align(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns side by side: words to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    last = len(widths) - 1
    return [
        "  ".join(
            cell.ljust(width) if index in (0, last) else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _model(comparison: Comparison) -> dict[str, Any]:
    model = comparison.model
    numbers = {key: getattr(model, key) for key in COEFFICIENTS}
    return {
        "platform": model.platform,
        "calibrated": model.is_calibrated,
        "source": model.source,
        **numbers,
    }


def _size(comparison: Comparison) -> dict[str, Any]:
    fastest, bounds = comparison.fastest, comparison.bounds
    return {
        "num_ranks": comparison.spec.num_ranks,
        "size": comparison.spec.size,
        "vector_bytes": comparison.spec.size_bytes,
        "fastest": fastest.value if fastest else None,
        "lower_bounds": asdict(bounds)
        | {f"{key}_s": one for key, one in bounds.seconds(comparison.model).items()},
        "algorithms": [_algorithm(one) for one in comparison.rows],
    }


def _algorithm(one: ComparedAlgorithm) -> dict[str, Any]:
    named: dict[str, Any] = {"algorithm": one.algorithm.value, "checks": one.verdict}
    if one.counted is None:
        return named
    counted = asdict(one.counted)
    cost: dict[str, Any] = counted.pop("cost")
    return named | counted | cost
