"""A small part of the sweep; `allreduce-gen bench --sweep` runs all of it.

Every cell must be right, or be on the list of what a platform's vector unit lacks.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from allreduce_gen.bench.sweep import run_cell, sweep_specs
from allreduce_gen.planner import check_spec
from allreduce_gen.spec import AllReduceSpec, DType, ReduceOp
from allreduce_gen.targets import PLATFORMS

REFUSALS = Path(__file__).parent / "data" / "refusals.txt"


def refused(spec: AllReduceSpec) -> bool:
    return f"{spec.platform} {spec.dtype.value} {spec.op.value}" in _refusals()


def _refusals() -> set[str]:
    return set(REFUSALS.read_text().splitlines())


def test_the_list_of_refusals_is_current() -> None:
    seen = {
        f"{platform} {dtype.value} {op.value}"
        for platform in PLATFORMS
        for dtype in DType
        for op in ReduceOp
        if any(
            check_spec(
                AllReduceSpec(
                    num_ranks=4, size=64, dtype=dtype, op=op, platform=platform
                )
            )
        )
    }
    assert seen == _refusals()


@pytest.mark.parametrize(
    ("size", "ranks", "platform"),
    [(18, 4, "a2a3sim"), (1, 2, "a2a3sim"), (100, 2, "a5sim"), (64, 1, "a2a3sim")],
)
def test_every_cell_is_right_or_on_the_list(
    size: int, ranks: int, platform: str
) -> None:
    cells = [
        run_cell(spec)
        for spec in sweep_specs(sizes=(size,), ranks=(ranks,), platform=platform)
    ]
    assert len(cells) == len(DType) * len(ReduceOp) * 3 * 2
    for cell in cells:
        wanted = "refused" if refused(cell.spec) else "right"
        assert cell.outcome == wanted, (cell.spec.name, cell.codes, cell.message)
