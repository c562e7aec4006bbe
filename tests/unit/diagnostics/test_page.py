"""docs/reference/diagnostics.md is what the registry says."""

from __future__ import annotations

from pathlib import Path

from allreduce_gen.diagnostics import CODES
from allreduce_gen.diagnostics.page import format_reference_page

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "diagnostics.md"


def test_the_file_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == format_reference_page()


def test_every_code_has_one_section_in_order() -> None:
    headings = [
        line.removeprefix("### ").split()
        for line in format_reference_page().splitlines()
        if line.startswith("### ")
    ]
    assert headings == [[code.id, code.name] for code in CODES.values()]
