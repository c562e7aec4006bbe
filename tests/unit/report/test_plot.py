"""The plot: crossovers marked, the same bytes each time."""

from __future__ import annotations

from pathlib import Path

import pytest

from allreduce_gen.costmodel import FORMULAS, find_crossovers, load_model
from allreduce_gen.report.plot import format_bytes, plot_times
from allreduce_gen.spec import AllReduceSpec

MODEL = load_model("a2a3sim")
SPEC = AllReduceSpec(num_ranks=8, size=4096)


def plot(path: Path) -> None:
    found = find_crossovers(SPEC, FORMULAS, MODEL)
    plot_times(path, SPEC, [16384.0], FORMULAS, found, MODEL)


def test_lines_crossovers_and_the_state_of_the_model_are_named(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot(tmp_path / "times.svg")
    text = (tmp_path / "times.svg").read_text()
    for word in (*(one.value for one in FORMULAS), "to two_phase", "uncalibrated"):
        assert word in text


def test_the_same_picture_is_the_same_file(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot(tmp_path / "a.svg")
    plot(tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_png_is_a_png(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot(tmp_path / "times.png")
    assert (tmp_path / "times.png").read_bytes().startswith(b"\x89PNG")


def test_an_unknown_suffix_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(ValueError, match="xyz"):
        plot(tmp_path / "times.xyz")


def test_bytes_have_units() -> None:
    assert [format_bytes(16.0 * 1024**power) for power in range(4)] == [
        "16 B",
        "16 KiB",
        "16 MiB",
        "16 GiB",
    ]
