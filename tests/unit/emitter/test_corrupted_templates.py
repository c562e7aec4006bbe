"""A corrupted template never becomes a kernel: every way it can fail has its code."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from allreduce_gen.emitter import find_templates
from allreduce_gen.errors import EmitError
from allreduce_gen.pipeline import generate
from allreduce_gen.spec import AllReduceSpec

SPEC = AllReduceSpec(num_ranks=4, size=4096)


def corrupted(folder: Path, file: str, before: str, after: str) -> Path:
    """A copy of the templates in which `file` says `after` instead of `before`."""
    shutil.copytree(find_templates(), folder / "templates")
    path = folder / "templates" / "pypto" / file
    text = path.read_text()
    assert text.count(before) == 1
    path.write_text(text.replace(before, after))
    return folder / "templates"


@pytest.mark.parametrize(
    ("file", "before", "after", "code", "says"),
    [
        (
            "two_phase.py.jinja",
            "view.words.noun",
            "view.words.nuon",
            "AR601",
            "nuon",
        ),
        (
            "two_phase.py.jinja",
            "emit.run(step.all_gather)",
            "'my_rank += 1\\n'",
            "AR602",
            "AR703",
        ),
        ("two_phase.py.jinja", "{% block body %}", "{% blok body %}", "AR601", "blok"),
        ("_kernel.py.jinja", "import argparse\n", "import\n", "AR602", "'import'"),
        (
            "_kernel.py.jinja",
            "{{ row.name }} = {{ row.value }}",
            "{{ row.name }} = 0",
            "AR603",
            "notify signal[1, 0] peer=1 value=1, the emitted source notify signal[0",
        ),
        ("_steps.jinja", "value={{ step.value }}", "value=2", "AR603", "value=2"),
        (
            "two_phase.py.jinja",
            "emit.run(step.all_gather)",
            "'pass\\n'",
            "AR603",
            "the emitted source nothing",
        ),
    ],
)
def test_corruption_is_refused(
    tmp_path: Path, file: str, before: str, after: str, code: str, says: str
) -> None:
    templates = corrupted(tmp_path, file, before, after)
    with pytest.raises(EmitError) as caught:
        generate(SPEC, templates=templates)
    (finding,) = caught.value.diagnostics
    assert finding.code.id == code
    assert says in finding.message


def test_a_missing_template_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmitError, match="AR601") as caught:
        generate(SPEC, templates=tmp_path)
    assert "two_phase.py.jinja" in str(caught.value)


def test_intact_templates_give_a_kernel() -> None:
    assert generate(SPEC).source == generate(SPEC, templates=find_templates()).source
