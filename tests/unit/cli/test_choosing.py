"""auto, compare, report and calibrate on the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from allreduce_gen.calibration import Calibration
from allreduce_gen.cli import calibrate, run_cli
from allreduce_gen.costmodel import (
    FORMULAS,
    Problem,
    Sample,
    closed_form,
    fit_model,
    load_model,
)
from allreduce_gen.engines.base import EngineName
from allreduce_gen.spec import AllReduceSpec

SPEC = ["--ranks", "2", "--size", "64"]


def cost_file(tmp_path: Path, **numbers: float) -> str:
    """A cost file for a2a3sim in which all is free but what `numbers` say."""
    keys = ("alpha_s", "t_notify_s", "beta_s_per_byte", "gamma_s_per_byte")
    values = dict.fromkeys((*keys, "copy_s_per_byte"), 0.0) | numbers
    rows = "\n".join(f"{key} = {value}" for key, value in values.items())
    path = tmp_path / "cost.toml"
    path.write_text(
        f"schema_version = 1\ncalibrated = true\n[platforms.a2a3sim]\n{rows}\n"
    )
    return str(path)


def test_auto_says_why_on_stderr_and_in_the_kernel(capsys) -> None:
    assert run_cli([*SPEC, "--algorithm", "auto"]) == 0
    out, err = capsys.readouterr()
    assert err.startswith("auto: mesh for 2 ranks of 256 bytes; modelled mesh ")
    assert "uncalibrated numbers for a2a3sim from the default cost model" in err
    made_by = "Made by: allreduce-gen --ranks 2 --size 64 --algorithm mesh \\\n"
    assert f'{made_by}    --because "auto, uncalibrated: ' in out


def test_the_kernel_can_be_made_again_without_the_cost_file(
    capsys, tmp_path: Path
) -> None:
    file = cost_file(tmp_path, t_notify_s=1.0)
    kernel = tmp_path / "kernel.py"
    args = ["--ranks", "16", "--size", "64", "-o", str(kernel)]
    assert run_cli([*args, "--algorithm", "auto", "--cost-model", file, "-q"]) == 0
    assert capsys.readouterr() == ("", "")
    text = kernel.read_text()
    assert "--algorithm recursive_doubling" in text
    because = text.split('--because "')[1].split('"')[0]
    assert because.startswith("auto, calibrated: 4 s, next ")
    again = ["--algorithm", "recursive_doubling", "--because", because]
    assert run_cli([*args, *again, "--check-only", "-q"]) == 0


def test_two_phase_stays_the_default(capsys) -> None:
    assert run_cli(SPEC) == 0
    out, err = capsys.readouterr()
    assert out.startswith('"""Two-phase all-reduce')
    assert err == ""


def test_a_bad_cost_file_is_refused(capsys, tmp_path: Path) -> None:
    file = cost_file(tmp_path, alpha_s=-1)
    assert run_cli([*SPEC, "--algorithm", "auto", "--cost-model", file]) == 1
    assert f"{file} has platforms.a2a3sim.alpha_s = -1" in capsys.readouterr().err


def test_compare_one_size(capsys) -> None:
    assert run_cli(["compare", *SPEC]) == 0
    out = capsys.readouterr().out
    assert out.count("lower bounds, one port") == 1
    assert all(f"\n{one.value} " in out for one in FORMULAS)
    assert "is faster than mesh" in out


def test_compare_several_sizes_as_json(capsys) -> None:
    command = ["compare", "--ranks", "2", "--sizes", "64,1K", "--format", "json"]
    assert run_cli(command) == 0
    data = json.loads(capsys.readouterr().out)
    assert [one["size"] for one in data["sizes"]] == [64, 1024]
    assert data["schema_version"] == 1


def test_compare_plots(capsys, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "times.svg"
    assert run_cli(["compare", *SPEC, "--plot", str(path)]) == 0
    assert capsys.readouterr().err == f"{path}: written\n"
    assert "<svg" in path.read_text()


def test_compare_has_one_way_to_say_sizes(capsys) -> None:
    assert run_cli(["compare", *SPEC, "--sizes", "64"]) == 2
    assert "--sizes stands in place of --size" in capsys.readouterr().err
    assert run_cli(["compare", "--ranks", "2"]) == 2


def test_compare_with_groups_has_a_row_for_those_without(capsys) -> None:
    assert run_cli(["compare", *SPEC, "--groups", "2x1"]) == 0
    rows = capsys.readouterr().out.splitlines()
    refused = [one.split()[0] for one in rows if one.endswith("refused: AR107")]
    assert refused == [one.value for one in FORMULAS if one.value != "hierarchical"]


@pytest.mark.parametrize("name", ["times.gif", "times"])
def test_compare_refuses_a_picture_it_cannot_draw_up_front(
    capsys, tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    assert run_cli(["compare", *SPEC, "--plot", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "does not end in .png, .svg, .pdf" in err
    assert not path.exists()


def test_compare_of_what_nothing_can_reduce_exits_1(capsys) -> None:
    assert run_cli(["compare", *SPEC, "--dtype", "int8"]) == 1
    assert capsys.readouterr().err.startswith("error[AR104]")


@pytest.mark.parametrize(
    ("flags", "code"),
    [("--ranks 0 --size 8", "AR101"), ("--ranks 2 --sizes 8,0", "AR102")],
)
def test_compare_refuses_what_cannot_be_planned(capsys, flags: str, code: str) -> None:
    assert run_cli(["compare", *flags.split()]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error[{code}]")


def test_report_writes_one_page(capsys, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert run_cli(["report", *SPEC, "-o", str(page)]) == 0
    assert capsys.readouterr().err == f"{page}: {page.stat().st_size} bytes\n"
    assert run_cli(["report", *SPEC]) == 0
    assert capsys.readouterr().out.rstrip("\n") == page.read_text().rstrip("\n")


def test_calibrate_writes_a_cost_file_and_says_how_well_it_fits(
    capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibrate, "calibrate", _timed_by_the_default_model)
    path = tmp_path / "cost.toml"
    assert run_cli(["calibrate", "-o", str(path)]) == 0
    err = capsys.readouterr().err.splitlines()
    assert err == [
        "timed runs on simulator: 20 kernels",
        "fit: R2 1.0000, median error 0.0%, worst 0.0%",
        "left out, no slower than their start: ring_p2_n1_fp32",
    ]
    model = load_model("a2a3sim", path)
    assert model.is_calibrated
    assert model.alpha_s == pytest.approx(2e-6, rel=1e-3)
    assert run_cli([*SPEC, "--algorithm", "auto", "--cost-model", str(path)]) == 0
    assert "; calibrated numbers for a2a3sim from" in capsys.readouterr().err


def test_calibrate_needs_enough_runs(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_few(*_: object, **__: object) -> Calibration:
        fit_model([], "a2a3sim", "no runs")
        raise AssertionError

    monkeypatch.setattr(calibrate, "calibrate", too_few)
    assert run_cli(["calibrate"]) == 2
    assert "0 runs for 5 numbers: give more" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "exit_code", "code", "says"),
    [
        ("--ranks x", 2, "AR107", "'x' is no list of numbers of ranks like 2,4,8"),
        ("--ranks 1K", 2, "AR107", "'1K' is no list of numbers of ranks"),
        ("--ranks 2,65", 1, "AR106", "65 ranks"),
        ("--ranks 2 --sizes 0", 1, "AR102", "0 elements"),
    ],
)
def test_calibrate_refuses_what_cannot_be_planned(
    capsys, flags: str, exit_code: int, code: str, says: str
) -> None:
    assert run_cli(["calibrate", *flags.split()]) == exit_code
    err = capsys.readouterr().err
    assert err.startswith(f"error[{code}]")
    assert says in err


@pytest.mark.parametrize(("quiet", "lines"), [((), 1), (("-q",), 0)])
def test_calibrate_says_each_kernel_when_it_is_timed(
    capsys, monkeypatch: pytest.MonkeyPatch, quiet: tuple[str, ...], lines: int
) -> None:
    def one_kernel(*_: object, tell, **__: object) -> Calibration:
        done = _timed_by_the_default_model(EngineName.SIMULATOR, "a2a3sim")
        tell(replace(done.fit.samples[0], seconds=2e-6))
        return done

    monkeypatch.setattr(calibrate, "calibrate", one_kernel)
    assert run_cli(["calibrate", *quiet]) == 0
    err = capsys.readouterr().err
    assert err.count("two_phase_p4_n1_fp32: 2 us a call\n") == lines


def _timed_by_the_default_model(engine, platform, **_: object) -> Calibration:
    """Runs whose times are exactly those of the default model."""
    model = load_model(platform)
    samples = []
    for ranks in (4, 8):
        for algorithm in FORMULAS:
            spec = AllReduceSpec(num_ranks=ranks, size=1, algorithm=algorithm)
            terms = closed_form(Problem(spec=spec, moved_bytes=1e6))
            seconds = terms.seconds(model)
            samples.append(Sample(name=spec.name, terms=terms, seconds=seconds))
    fit = fit_model(samples, platform, f"timed runs on {engine.value}")
    return Calibration(fit=fit, lost=("ring_p2_n1_fp32",))
