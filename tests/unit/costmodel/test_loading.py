"""Cost files: read, written, and refused with what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from allreduce_gen.costmodel import COEFFICIENTS, format_model, load_model
from allreduce_gen.errors import SpecError
from allreduce_gen.targets import PLATFORMS

from .models import FULL

GOOD = format_model([FULL])


def refusals(tmp_path: Path, text: str) -> list[str]:
    file = tmp_path / "cost.toml"
    file.write_text(text)
    with pytest.raises(SpecError) as caught:
        load_model("a2a3sim", file)
    assert {one.code.id for one in caught.value.diagnostics} == {"AR107"}
    assert all(one.location.file == str(file) for one in caught.value.diagnostics)
    return [one.message.removeprefix(f"{file} ") for one in caught.value.diagnostics]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_defaults_are_there_and_say_that_nobody_measured_them(platform: str) -> None:
    model = load_model(platform)
    assert model.state == "uncalibrated"
    assert model.source == "the default cost model"
    assert all(getattr(model, key) > 0 for key in COEFFICIENTS)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "cost.toml"
    file.write_text(format_model([FULL], ["measured", "", "twice"]))
    read = load_model("a2a3sim", file)
    assert {key: getattr(read, key) for key in COEFFICIENTS} == {
        key: getattr(FULL, key) for key in COEFFICIENTS
    }
    assert not read.is_calibrated
    assert file.read_text().startswith("# measured\n#\n# twice\nschema_version = 1\n")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "alpha_s = 3.0\n",
            "",
            "lacks platforms.a2a3sim.alpha_s; wanted a number of at least 0",
        ),
        (
            "alpha_s = 3.0",
            'alpha_s = "fast"',
            "has platforms.a2a3sim.alpha_s = 'fast'; wanted a number of at least 0",
        ),
        (
            "alpha_s = 3.0",
            "alpha_s = -1",
            "has platforms.a2a3sim.alpha_s = -1; wanted a number of at least 0",
        ),
        (
            "alpha_s = 3.0",
            "alpha_s = inf",
            "has platforms.a2a3sim.alpha_s = inf; wanted a number of at least 0",
        ),
        (
            "alpha_s = 3.0",
            "alpha_s = true",
            "has platforms.a2a3sim.alpha_s = True; wanted a number of at least 0",
        ),
        (
            "alpha_s = 3.0",
            "alpha_s = 3.0\nlatency = 1.0",
            "has the unknown key platforms.a2a3sim.latency; wanted one of "
            + ", ".join(COEFFICIENTS),
        ),
        (
            "a2a3sim",
            "a5",
            "lacks platforms.a2a3sim; wanted a table of " + ", ".join(COEFFICIENTS),
        ),
        (
            "calibrated = false",
            "calibrated = 1",
            "has calibrated = 1; wanted true or false",
        ),
        ("schema_version = 1\n", "", "lacks schema_version; wanted the number 1"),
    ],
)
def test_faults_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    assert refusals(tmp_path, GOOD.replace(old, new)) == [message]


def test_all_faults_come_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("alpha_s = 3.0\n", "").replace("false", '"no"')
    assert len(refusals(tmp_path, text)) == 2


def test_text_that_is_no_toml_is_refused_with_its_line(tmp_path: Path) -> None:
    (message,) = refusals(tmp_path, "schema_version = 1\nalpha_s == 2\n")
    assert message.startswith("is no TOML: ")
    assert "line 2" in message


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "cost.toml"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(SpecError, match="cannot be read: it is no UTF-8 text"):
        load_model("a2a3sim", file)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be read: no such file or directory"):
        load_model("a2a3sim", tmp_path / "none.toml")
