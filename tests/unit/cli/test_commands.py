"""Commands that do what they are asked: streams, files, exit codes, JSON."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from allreduce_gen.cli import run_cli
from allreduce_gen.diagnostics import CODES

SPEC = ["--ranks", "4", "--size", "64"]


@pytest.fixture
def emitted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    path = tmp_path / "kernel.py"
    assert run_cli([*SPEC, "-o", str(path)]) == 0
    capsys.readouterr()
    return path


def test_without_o_the_source_goes_to_stdout(capsys) -> None:
    assert run_cli(SPEC) == 0
    plain = capsys.readouterr()
    assert run_cli(["emit", *SPEC, "-o", "-"]) == 0
    assert capsys.readouterr() == plain
    assert plain.out.startswith('"""Two-phase all-reduce')
    assert plain.out.endswith("raise SystemExit(main())\n")
    assert plain.err == ""


def test_emit_then_run_ends_in_ok(capsys, tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    assert run_cli([*SPEC, "-o", str(path), "--run"]) == 0
    out, err = capsys.readouterr()
    assert out == "OK\n"
    assert "proved" in err
    assert path.read_text().startswith('"""')


def test_quiet_says_nothing_but_the_result(capsys, tmp_path: Path) -> None:
    assert run_cli([*SPEC, "-o", str(tmp_path / "k.py"), "--run", "-q"]) == 0
    assert capsys.readouterr() == ("OK\n", "")


def test_check_only_tells_an_old_file_from_a_current_one(capsys, emitted: Path) -> None:
    assert run_cli([*SPEC, "-o", str(emitted), "--check-only"]) == 0
    emitted.write_text(emitted.read_text().replace("CHUNK = 16", "CHUNK = 17"))
    before = emitted.read_text()
    assert run_cli([*SPEC, "-o", str(emitted), "--check-only"]) == 1
    out = capsys.readouterr().out
    assert "-CHUNK = 17\n+CHUNK = 16\n" in out
    assert emitted.read_text() == before


def test_a_link_is_followed_and_the_mode_kept(emitted: Path, tmp_path: Path) -> None:
    emitted.chmod(0o640)
    link = tmp_path / "link.py"
    link.symlink_to(emitted)
    assert run_cli(["--ranks", "2", "--size", "64", "-o", str(link), "-q"]) == 0
    assert link.is_symlink()
    assert "NUM_RANKS = 2" in emitted.read_text()
    assert stat.S_IMODE(emitted.stat().st_mode) == 0o640


def test_a_pipe_is_written_directly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # A reader that does not block: a kernel fits into the pipe.
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert run_cli([*SPEC, "-o", str(pipe), "-q"]) == 0
    text = os.read(reader, 1 << 16).decode()
    os.close(reader)
    assert text.startswith('"""Two-phase')
    assert list(tmp_path.iterdir()) == [pipe]


def test_check_is_clean(capsys, emitted: Path) -> None:
    assert run_cli(["check", str(emitted)]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"{emitted}: AllReduce, 4 ranks, all_reduce: 0 errors, 0 warnings\n"


def test_one_row_for_both_barriers_is_named_with_lines(capsys, emitted: Path) -> None:
    text = emitted.read_text().replace("ROW_REDUCED = 1", "ROW_REDUCED = 0")
    emitted.write_text(text)
    assert run_cli(["check", str(emitted), "--format", "json"]) == 1
    (program,) = json.loads(capsys.readouterr().out)["programs"]
    found = {one["code"]: one["location"] for one in program["diagnostics"]}
    assert set(found) == {"AR303", "AR401"}
    lines = text.splitlines()
    waits = lines[found["AR303"]["line"] - 1 :][:3]
    assert "ROW_REDUCED" in "".join(waits)
    assert "remote_load" in lines[found["AR401"]["line"] - 1]


def test_strict_makes_warnings_fail(capsys, emitted: Path) -> None:
    # A mesh in which each rank starts from its own slice: ranks disagree in bits.
    text = emitted.read_text()
    start = text.index("        # Reduce-scatter")
    stop = text.index("        return y\n")
    body = """\
        acc = pl.load(data, [0, 0], [1, SIZE])
        for step in pl.range(1, NUM_RANKS):
            peer = (my_rank + step) % NUM_RANKS
            contribution = pld.tile.remote_load(
                data, peer=peer, offsets=[0, 0], shape=[1, SIZE]
            )
            acc = pl.add(acc, contribution)
        y = pl.store(acc, [0, 0], y)
"""
    emitted.write_text(text[:start] + body + text[stop:])
    assert run_cli(["check", str(emitted)]) == 0
    assert "warning[AR409] ranks-disagree" in capsys.readouterr().err
    assert run_cli(["check", str(emitted), "--strict"]) == 1


def test_run_prints_ok_last(capsys, emitted: Path) -> None:
    assert run_cli(["run", str(emitted), "-d", "0,1,2,3", "--seed", "3"]) == 0
    out, err = capsys.readouterr()
    assert out == "OK\n"
    assert "right on every rank" in err


def test_run_refuses_what_the_checks_refuse(capsys, emitted: Path) -> None:
    emitted.write_text(
        emitted.read_text().replace("ROW_REDUCED = 1", "ROW_REDUCED = 0")
    )
    assert run_cli(["run", str(emitted)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "AR401" in err


def test_run_as_json(capsys, emitted: Path) -> None:
    assert run_cli(["run", str(emitted), "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["schema_version"], data["file"]) == (1, str(emitted))
    assert (data["correct"], data["diagnostics"]) == (True, [])
    (report,) = data["programs"]
    assert (report["program"], report["num_ranks"]) == ("AllReduce", 4)
    assert report["remote_bytes"] == [2 * 3 * 16 * 4] * 4


def test_run_as_json_says_why_it_refuses(capsys, emitted: Path) -> None:
    emitted.write_text(
        emitted.read_text().replace("ROW_REDUCED = 1", "ROW_REDUCED = 0")
    )
    assert run_cli(["run", str(emitted), "--format", "json"]) == 1
    out, err = capsys.readouterr()
    data = json.loads(out)
    assert err == ""
    assert (data["correct"], data["programs"]) == (False, [])
    assert {one["code"] for one in data["diagnostics"]} == {"AR303", "AR401"}


def test_run_as_json_of_a_file_that_is_not_there(capsys) -> None:
    assert run_cli(["run", "no.py", "--format", "json"]) == 1
    out, err = capsys.readouterr()
    assert err == ""
    assert [one["code"] for one in json.loads(out)["diagnostics"]] == ["AR704"]


@pytest.mark.parametrize("word", ["both-late", "both_late"])
def test_a_hyphen_is_as_good_as_an_underscore(emitted: Path, word: str) -> None:
    assert run_cli(["run", str(emitted), "--schedule", word]) == 0


def test_help_names_what_a_flag_takes(capsys) -> None:
    for command in ("calibrate", "compare", "emit"):
        assert run_cli([command, "--help"]) == 0
        assert "PARSE" not in capsys.readouterr().out


def test_plan_as_json(capsys) -> None:
    assert run_cli(["plan", *SPEC, "--format", "json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["schema_version"] == 1
    assert plan["signal_rows"] == {"ROW_STAGED": 0, "ROW_REDUCED": 1}
    assert [step["name"] for step in plan["steps"]] == [
        "stage_in",
        "notify_staged",
        "wait_staged",
        "reduce_scatter",
        "notify_reduced",
        "wait_reduced",
        "all_gather",
    ]


def test_explain_one_and_list_all(capsys) -> None:
    assert run_cli(["explain", "ar303"]) == 0
    assert capsys.readouterr().out.startswith("AR303 signal-slot-reused (error)\n")
    assert run_cli(["explain"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == list(CODES)


def test_doctor_shows_every_engine(capsys) -> None:
    assert run_cli(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "simulator" in out
    assert "pypto" in out


def test_version_and_help(capsys) -> None:
    assert run_cli(["--version"]) == 0
    assert "0.1.0" in capsys.readouterr().out
    assert run_cli(["--help"]) == 0
    help_text = capsys.readouterr().out
    for command in ("emit", "plan", "check", "run", "explain", "doctor"):
        assert command in help_text


def test_no_arguments_is_the_plain_usage(capsys) -> None:
    assert run_cli([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Usage: ")


def test_the_certificate_has_one_hash_a_range(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    args = ["--ranks", "3", "--size", "100", "--dtype", "bf16", "--op", "avg"]
    kernel = str(tmp_path / "kernel.py")
    assert run_cli([*args, "-o", kernel, "--certificate", str(path), "-q"]) == 0
    ranges = json.loads(path.read_text())["ranges"]
    assert [(one["start"], one["stop"]) for one in ranges] == [
        (0, 48),
        (48, 96),
        (96, 100),
    ]
    assert all(one["ranks_agree"] and len(one["sha256"]) == 1 for one in ranges)
    assert ranges[1]["expression"] == (
        "bf16((((fp32(x1) + fp32(x2)) + fp32(x0)) * 0.3333333333333333))"
    )


def test_check_only_compares_the_certificate_too(capsys, tmp_path: Path) -> None:
    kernel, certificate = tmp_path / "kernel.py", tmp_path / "certificate.json"
    args = [*SPEC, "-o", str(kernel), "--certificate", str(certificate)]
    assert run_cli(args) == 0
    assert run_cli([*args, "--check-only"]) == 0
    certificate.write_text(certificate.read_text().replace('"start": 0', '"start": 1'))
    capsys.readouterr()
    assert run_cli([*args, "--check-only"]) == 1
    assert '-      "start": 1,\n+      "start": 0,\n' in capsys.readouterr().out


def test_in_place_says_what_it_saves(capsys) -> None:
    assert run_cli(["plan", *SPEC, "--in-place"]) == 0
    assert "saved_window_bytes  256\n" in capsys.readouterr().out
    assert run_cli(["plan", *SPEC, "--in-place", "--format", "json"]) == 0
    cost = json.loads(capsys.readouterr().out)["cost"]
    assert (cost["window_bytes"], cost["saved_window_bytes"]) == (256, 256)
    assert run_cli(["plan", *SPEC, "--format", "json"]) == 0
    cost = json.loads(capsys.readouterr().out)["cost"]
    assert (cost["window_bytes"], cost["saved_window_bytes"]) == (512, 0)


def test_a_plan_without_windows_says_so(capsys) -> None:
    assert run_cli(["plan", "--ranks", "1", "--size", "1", "--reuse", "epoch"]) == 0
    out = capsys.readouterr().out
    assert "sum of 1 fp32 element over 1 rank, for a2a3sim\nwindows: none\n" in out


def test_help_offers_what_some_platform_has(capsys) -> None:
    assert run_cli(["emit", "--help"]) == 0
    offered = capsys.readouterr().out.split("--dtype [")[1].split("]")[0]
    assert offered.split("|")[:5] == ["fp32", "fp16", "bf16", "int32", "int16"]
    assert "bool" not in offered
