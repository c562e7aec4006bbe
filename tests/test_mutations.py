"""The mutation matrix: a sample of it, and that its page is current.

`python -m tests.mutations` judges all of it.
"""

from __future__ import annotations

import pytest

from .mutations.catalogue import MUTATIONS
from .mutations.matrix import PAGE, format_counts, judge_cell
from .mutations.programs import RANKS, subjects

SAMPLE = [
    ("written: two-phase", 2),
    ("written: mesh", 4),
    ("written: push", 3),
    ("written: ring", 3),
    ("emitted: two_phase", 3),
]


def _shown(name: str, num_ranks: int) -> dict[str, str]:
    """What the page has for each mutation of one program on so many ranks."""
    page = PAGE.read_text(encoding="utf-8")
    _, _, section = page.partition(f"\n## {name}\n")
    section, _, _ = section.partition("\n## ")
    rows = [
        line.strip("| ").split(" | ") for line in section.splitlines() if "|" in line
    ]
    column = rows[0].index(f"P={num_ranks}")
    return {row[0]: row[column] for row in rows[2:]}


@pytest.mark.parametrize(("name", "num_ranks"), SAMPLE)
def test_every_mutant_is_killed_or_equivalent(name: str, num_ranks: int) -> None:
    (subject,) = (one for one in subjects() if one.name == name)
    cell = judge_cell(subject, num_ranks)
    assert cell.accepted
    assert cell.survivors == []
    found = {
        mutation: format_counts(counts) for mutation, counts in cell.counts.items()
    }
    assert found == _shown(name, num_ranks)


def test_the_page_has_every_program_and_mutation() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert len(MUTATIONS) >= 20
    for subject in subjects():
        shown = {mutation.name for mutation in MUTATIONS}
        assert set(_shown(subject.name, RANKS[0])) == shown
    assert ", 0 survived." in page
