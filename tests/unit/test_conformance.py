"""The table of what pypto accepts, from verdicts that are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from allreduce_gen import conformance
from allreduce_gen.cli import run_cli
from allreduce_gen.conformance import Conformance, conform, format_conformance
from allreduce_gen.diagnostics import codes, diagnose
from allreduce_gen.errors import CompileError

GOLDEN = Path(__file__).parents[1] / "golden" / "kernels"
KERNEL = GOLDEN / "two_phase_p2_n64_fp32.py"


def test_a_row_a_program_and_a_column_a_platform() -> None:
    row = Conformance(file="k.py", program="K", verdicts=("accepted",) * 4, run="right")
    *_, head, rule, line = format_conformance([row]).splitlines()
    assert head == "| kernel | a2a3sim | a2a3 | a5sim | a5 | run on a2a3sim |"
    assert rule == "| --- | --- | --- | --- | --- | --- |"
    assert line == "| `k.py` | accepted | accepted | accepted | accepted | right |"


def test_verdicts_are_pyptos_beside_those_from_here(
    tmp_path: Path, monkeypatch
) -> None:
    def compile_with(worker, source, options) -> Path:
        if source.platform == "a5":
            raise CompileError([diagnose(codes.AR702, "no such thing", help="mend it")])
        return tmp_path

    monkeypatch.setattr(conformance, "compile_with", compile_with)
    monkeypatch.setattr(conformance, "refuse_missing", lambda *_, **__: None)
    broken = tmp_path / "broken.py"
    text = KERNEL.read_text()
    broken.write_text(text.replace("ROW_REDUCED = 1", "ROW_REDUCED = 0"))
    sound, unsound = conform([KERNEL, broken], run=False)
    assert sound.verdicts == ("accepted",) * 3 + ("refused: no such thing",)
    assert unsound.verdicts[0] == "accepted; refused here (AR303, AR401)"
    assert sound.run is None


@pytest.mark.parametrize("words", [["k.py"], ["--conformance"], ["--run"]])
def test_doctor_takes_files_for_conformance_only(words, capsys) -> None:
    assert run_cli(["doctor", *words]) == 2
    assert "error[AR107]" in capsys.readouterr().err


def test_doctor_names_every_engine_and_part(capsys) -> None:
    assert run_cli(["doctor"]) == 0
    out = capsys.readouterr().out
    for word in ("simulator", "mpi", "pypto", "ptoas", "simpler", "g++-15", "CANN"):
        assert word in out
