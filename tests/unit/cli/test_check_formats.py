"""`check`: silenced warnings, SARIF, and files that cannot be judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from allreduce_gen.cli import run_cli
from tests.sources import barrier, gather_and_add, mesh, two_phase


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _write(text: str) -> str:
    Path("kernel.py").write_text(text)
    return "kernel.py"


def _mesh_of_floats(comment: str = "") -> str:
    """Each rank starts from its own elements: AR409."""
    text = mesh(3, barrier()).replace("pl.Tensor[[1, SIZE], pl.INT32]", "{x}")
    text = text.replace("pl.Tensor[[NUM_RANKS, 1, SIZE], pl.INT32]", "{xs}")
    text = text.replace("DistributedTensor[[1, SIZE], pl.INT32]", "{data}")
    text = text.replace("[1, SIZE], dtype=pl.INT32", "[1, SIZE], dtype=pl.FP32")
    text = text.replace("pl.Tensor[[1, OUT], pl.INT32]", "pl.Tensor[[1, OUT], pl.FP32]")
    text = text.replace(
        "pl.Tensor[[NUM_RANKS, 1, OUT], pl.INT32]",
        "pl.Tensor[[NUM_RANKS, 1, OUT], pl.FP32]",
    )
    text = text.replace("{x}", "pl.Tensor[[1, SIZE], pl.FP32]")
    text = text.replace("{xs}", "pl.Tensor[[NUM_RANKS, 1, SIZE], pl.FP32]")
    text = text.replace("{data}", "DistributedTensor[[1, SIZE], pl.FP32]")
    last = gather_and_add().splitlines()[-1]
    return text.replace(last, f"{last}{comment}")


def test_a_warning_that_is_silenced_is_counted_and_does_no_harm(capsys) -> None:
    assert run_cli(["check", _write(_mesh_of_floats()), "--strict"]) == 1
    assert "warning[AR409]" in capsys.readouterr().err
    silenced = _mesh_of_floats("  # allreduce-gen: ignore[AR409]")
    assert run_cli(["check", _write(silenced), "--strict"]) == 0
    shown = capsys.readouterr().err
    assert "AR409" not in shown
    assert "0 errors, 0 warnings, 1 silenced" in shown


def test_silenced_warnings_in_json_and_sarif(capsys) -> None:
    file = _write(_mesh_of_floats("  # allreduce-gen: ignore[AR409]"))
    assert run_cli(["check", file, "--format", "json"]) == 0
    (program,) = json.loads(capsys.readouterr().out)["programs"]
    assert program["diagnostics"] == []
    assert [one["code"] for one in program["silenced"]] == ["AR409"]
    assert run_cli(["check", file, "--format", "sarif"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    (result,) = run["results"]
    assert result["suppressions"] == [{"kind": "inSource"}]


def test_an_error_in_sarif_comes_with_its_code_flow(capsys) -> None:
    file = _write(two_phase(2, rows="ROW_A ROW_A"))
    assert run_cli(["check", file, "--format", "sarif"]) == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    reuse, race = run["results"]
    assert (reuse["ruleId"], race["ruleId"]) == ("AR303", "AR401")
    (flow,) = race["codeFlows"]
    assert len(flow["threadFlows"][0]["locations"]) == 4


def test_a_file_that_is_refused_does_not_hide_the_others(capsys) -> None:
    file = _write(two_phase(2))
    assert run_cli(["check", "gone.py", file, "--format", "json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert [one["file"] for one in data["programs"]] == [file]
    (refused,) = data["refused"]
    assert refused["diagnostics"][0]["code"] == "AR704"
    assert run_cli(["check", "gone.py", file]) == 1
    shown = capsys.readouterr().err
    assert "error[AR704]" in shown
    assert "kernel.py: Program, 2 ranks, all_reduce: 0 errors, 0 warnings" in shown
