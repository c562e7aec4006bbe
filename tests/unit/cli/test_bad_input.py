"""Bad input: one coded message, the right exit code, no traceback, nothing written."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from allreduce_gen.cli import run_cli

Emit = Callable[..., Path]


@pytest.fixture
def emitted(tmp_path: Path) -> Path:
    """A kernel for four ranks, as the command line writes it."""
    path = tmp_path / "kernel.py"
    assert run_cli(["--ranks", "4", "--size", "64", "-o", str(path), "-q"]) == 0
    return path


def refuse(
    capsys: pytest.CaptureFixture[str], args: list[str], exit_code: int, *ids: str
) -> str:
    """Run `args`, which must end so, and return what stderr says."""
    capsys.readouterr()
    assert run_cli(args) == exit_code
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    assert tuple(re.findall(r"^error\[(AR\d+)\]", err, re.MULTILINE)) == ids
    return err


@pytest.mark.parametrize(
    ("flags", "exit_code", "code", "says"),
    [
        ("--ranks 0 --size 64", 1, "AR101", "0 ranks"),
        ("--ranks -1 --size 64", 1, "AR101", "-1 ranks"),
        ("--ranks 65 --size 65K", 1, "AR106", "holds 64"),
        ("--ranks four --size 64", 2, "AR107", "'--ranks': 'four'"),
        ("--ranks 4 --size 0", 1, "AR102", "0 elements"),
        ("--ranks 4 --size -4", 1, "AR102", "-4 elements"),
        ("--ranks 4 --size x", 2, "AR107", "'--size': 'x'"),
        ("--ranks 4", 2, "AR107", "--size or --shape"),
        ("--size 64", 2, "AR107", "--ranks"),
        ("--ranks 4 --shape 4y4", 2, "AR107", "'--shape': '4y4'"),
        ("--ranks 4 --shape 4x4 --size 17", 1, "AR102", "16 elements, not 17"),
        ("--ranks 4 --size 64 --op xor", 2, "AR107", "'--op': 'xor'"),
        (
            "--ranks 4 --size 64 --dtype fp64",
            2,
            "AR107",
            "'--dtype': 'fp64' is not one of fp32, fp16, bf16, int32, int16: a2a3sim "
            "has no other",
        ),
        (
            "--dtype bool --ranks 4 --size 64 --platform a5",
            2,
            "AR107",
            "'bool' is not one of fp32, fp16, bf16, int32, int16, int8, uint8, uint16, "
            "uint32, int64, uint64: a5 has no other",
        ),
        (
            "--ranks 4 --size 64 --accumulate native",
            1,
            "AR107",
            "leave out --accumulate native",
        ),
        (
            "--ranks 4 --size 64 --certificate -",
            2,
            "AR107",
            "--certificate needs a file",
        ),
        (
            "--ranks 4 --size 64 -o kernel.py --certificate ./kernel.py",
            2,
            "AR107",
            "-o and --certificate both name kernel.py",
        ),
        ("--ranks 4 --size 64 --algorithm best", 2, "AR107", "'best'"),
        ("--ranks 4 --size 64 --platform a9", 2, "AR107", "'--platform': 'a9'"),
        ("--ranks 4 --size 64 --frobnicate", 2, "AR107", "--frobnicate"),
        ("--ranks 4 --size 64 --dtype int8", 1, "AR104", "fp32, fp16, bf16, int32"),
        ("--ranks 4 --size 64 --dtype int32 --op avg", 1, "AR105", "sum, max, min"),
        (
            "--ranks 4 --size 64 --dtype bf16 --accumulate native",
            1,
            "AR104",
            "--accumulate wide",
        ),
        ("--ranks 4 --size 64 --tile 0", 1, "AR107", "a tile of 0 elements"),
        ("--ranks 4 --size 64 -o - --run", 2, "AR107", "--run needs a file"),
        ("--ranks 4 --size 64 --check-only", 2, "AR107", "--check-only needs a file"),
        (
            "--ranks 3 --size 4096 --strict-divisible",
            1,
            "AR103",
            "--size 4080 or 4104",
        ),
        ("--ranks 4 --size 64 -o k.py --run --check-only", 2, "AR107", "exclude each"),
        ("--ranks 4 --size 64 -q -v", 2, "AR107", "-q and -v exclude each other"),
        ("--ranks 4 --size 64 --cost-model no.toml", 2, "AR107", "--algorithm auto"),
        ("plan --ranks 4 --size 64 --cost-model no", 2, "AR107", "--algorithm auto"),
        (
            "--ranks 4 --size 64 --algorithm auto --cost-model no.toml",
            1,
            "AR107",
            "no.toml cannot be read: no such file or directory\n  --> no.toml\n"
            "   = help: give --cost-model a TOML file",
        ),
        ("bench --algorithm ring", 2, "AR107", "give --sweep too"),
        ("bench --sweep --repeats 2", 2, "AR107", "exclude each other"),
        ("compare --ranks 4 --size 64 --because x", 2, "AR107", "--because"),
        ("check kernel.py --ranks 0", 1, "AR101", "0 ranks"),
        ("run kernel.py --ranks -1", 1, "AR101", "-1 ranks"),
        ("frobnicate", 2, "AR107", "'frobnicate'"),
        ("explain AR999", 2, "AR107", "'AR999'"),
    ],
)
def test_bad_words(
    capsys: pytest.CaptureFixture[str],
    flags: str,
    exit_code: int,
    code: str,
    says: str,
) -> None:
    assert says in refuse(capsys, flags.split(), exit_code, code)


@pytest.mark.parametrize(
    ("command", "flag"),
    [
        ("emit", "-o"),
        ("emit", "--certificate"),
        ("report", "-o"),
        ("compare", "--plot"),
    ],
)
def test_a_file_has_a_name(
    capsys: pytest.CaptureFixture[str], command: str, flag: str
) -> None:
    args = [command, "--ranks", "4", "--size", "64", flag, ""]
    assert "a file needs a name" in refuse(capsys, args, 2, "AR107")


def test_a_binary_file_has_no_line_to_correct(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "program.py"
    path.write_bytes(b"x = 1\0\n")
    err = refuse(capsys, ["check", str(path)], 1, "AR704")
    assert "help: give the path of a Python file that defines a pypto program" in err


def test_a_size_that_divides_but_does_not_align(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "kernel.py"
    args = f"--ranks 3 --size 4098 --strict-divisible -o {path}".split()
    err = refuse(capsys, args, 1, "AR103")
    assert "a chunk of 1366 is 5464 bytes, needs a multiple of 32" in err
    assert not path.exists()


def test_output_into_a_missing_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "missing" / "kernel.py"
    args = ["--ranks", "4", "--size", "64", "-o", str(path)]
    assert str(path) in refuse(capsys, args, 1, "AR604")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kernel", "certificate", "flag"),
    [
        ("missing/kernel.py", "certificate.json", "-o"),
        ("kernel.py", "missing/certificate.json", "--certificate"),
        ("kernel.py", "folder", "--certificate"),
        ("-", "missing/certificate.json", "--certificate"),
    ],
)
def test_kernel_and_certificate_are_written_both_or_not_at_all(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kernel: str,
    certificate: str,
    flag: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    args = ["--ranks", "4", "--size", "64", "-o", kernel, "--certificate", certificate]
    assert f"give {flag} a file" in refuse(capsys, args, 1, "AR604")
    assert list(tmp_path.rglob("*")) == [tmp_path / "folder"]


def test_output_onto_a_file_with_no_write_bit(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text("mine")
    path.chmod(stat.S_IRUSR)
    args = ["--ranks", "4", "--size", "64", "-o", str(path)]
    assert "no write permission" in refuse(capsys, args, 1, "AR604")
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]


def test_output_onto_a_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    args = ["--ranks", "4", "--size", "64", "-o", str(tmp_path)]
    assert str(tmp_path) in refuse(capsys, args, 1, "AR604")


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize(
    ("content", "code", "says"),
    [
        (None, "AR704", "does not exist"),
        (b"", "AR704", "is empty"),
        (b"\xff\xfe", "AR704", "is not Python"),
        (b"def f(:\n", "AR704", "is not Python"),
        (b"raise KeyError('here')\n", "AR704", "KeyError"),
        (b"x = 1\n", "AR705", "defines no pypto program"),
    ],
)
def test_files_that_hold_no_program(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    command: str,
    content: bytes | None,
    code: str,
    says: str,
) -> None:
    path = tmp_path / "program.py"
    if content is not None:
        path.write_bytes(content)
    err = refuse(capsys, [command, str(path)], 1, code)
    assert says in err
    assert str(path) in err


def test_an_edited_file_that_no_longer_parses(
    capsys: pytest.CaptureFixture[str], emitted: Path
) -> None:
    emitted.write_text(emitted.read_text().replace("my_chunk = ", "my_chunk = = "))
    err = refuse(capsys, ["check", str(emitted)], 1, "AR704")
    assert re.search(rf"--> {re.escape(str(emitted))}:\d+", err)


def test_a_device_count_other_than_the_kernels(
    capsys: pytest.CaptureFixture[str], emitted: Path
) -> None:
    err = refuse(capsys, ["run", str(emitted), "-d", "0,1"], 1, "AR703")
    assert "4" in err
    assert "2 ranks" in err


def test_devices_that_are_no_numbers(
    capsys: pytest.CaptureFixture[str], emitted: Path
) -> None:
    assert "-d" in refuse(capsys, ["run", str(emitted), "-d", "a,b"], 2, "AR107")
