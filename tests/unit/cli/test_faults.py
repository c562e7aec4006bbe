"""Faults from outside: an interrupt, a full disk, a closed stdout, no end in sight."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from allreduce_gen.__main__ import main
from allreduce_gen.cli import run_cli
from allreduce_gen.engines.mpi.available import missing_part

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "kernels"
SPEC = ["--ranks", "2", "--size", "64"]


def start(words: list[str], temporary: Path, **streams) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "allreduce_gen", *words],
        text=True,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)},
        preexec_fn=take_interrupts,
        **streams,
    )


def take_interrupts() -> None:
    """A shell's background jobs, and so their children, would ignore them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for(pattern: str, folder: Path, process: subprocess.Popen[str]) -> None:
    while not list(folder.glob(pattern)):
        assert process.poll() is None, process.communicate()


def endless(folder: Path) -> Path:
    """A file whose module level says that it has started, and then never ends."""
    path = folder / "endless.py"
    mark = folder / "started"
    path.write_text(f"open({str(mark)!r}, 'w').close()\nwhile True:\n    pass\n")
    return path


def test_an_interrupt_ends_the_command_with_130(tmp_path: Path) -> None:
    process = start(["check", str(endless(tmp_path))], tmp_path)
    wait_for("started", tmp_path, process)
    process.send_signal(signal.SIGINT)
    assert process.communicate()[1].strip() == "interrupted"
    assert process.returncode == 130


def test_an_interrupt_ends_every_rank_and_leaves_no_file(tmp_path: Path) -> None:
    missing = missing_part()
    if missing is not None:
        pytest.skip(missing.message)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    words = ["run", str(GOLDEN / "two_phase_p16_n1048576_fp32.py"), "--engine", "mpi"]
    process = start(words, temporary)
    wait_for("*/start-1.pickle", temporary, process)
    for pid in ranks_in(temporary):  # the run is under way when the interrupt comes
        os.kill(pid, signal.SIGSTOP)
    process.send_signal(signal.SIGINT)
    assert process.communicate()[1].strip() == "interrupted"
    assert process.returncode == 130
    assert ranks_in(temporary) == []
    assert list(temporary.iterdir()) == []


def ranks_in(folder: Path) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes()
        except OSError:
            continue
        if str(folder).encode() in command and b"mpiexec" not in command:
            found.append(int(path.parent.name))
    return found


def test_an_interrupt_while_the_program_loads_is_one(monkeypatch, capsys) -> None:
    class Loading(ModuleType):
        def __getattr__(self, name: str) -> None:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "allreduce_gen.cli", Loading("allreduce_gen.cli"))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_what_never_ends_is_stopped_at_the_limit(tmp_path: Path, capsys) -> None:
    path = endless(tmp_path)
    assert run_cli(["run", str(path), "--timeout", "0.2"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "error[AR803] time-limit: stopped after 0.2 s" in err
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_limit_of_nothing_is_no_limit(capsys) -> None:
    assert run_cli(["run", "kernel.py", "--timeout", "0"]) == 2
    assert "error[AR107]" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_device_is_named(capsys) -> None:
    assert run_cli([*SPEC, "-o", "/dev/full"]) == 1
    err = capsys.readouterr().err
    assert "error[AR604]" in err
    assert "/dev/full was not written: no space left on device" in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_stdout_is_named(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        process = start(SPEC, tmp_path, stdout=full)
        err = process.communicate()[1]
    assert process.returncode == 1
    assert "error[AR604]" in err
    assert "stdout could not be written: no space left on device" in err
    assert "= help: send stdout to a file or a pipe that takes all of it" in err


def test_a_full_disk_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text("old\n")

    def full(*_) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    assert run_cli([*SPEC, "-o", str(path)]) == 1
    assert "no space left on device" in capsys.readouterr().err
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_tiny_disk_leaves_no_file(tmp_path: Path, capsys) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a file system cannot be mounted here")
    try:
        assert run_cli([*SPEC, "-o", str(disk / "kernel.py")]) == 1
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert "no space left on device" in capsys.readouterr().err


def test_a_closed_stdout_is_named(tmp_path: Path) -> None:
    command = f"{sys.executable} -m allreduce_gen --ranks 2 --size 64 >&-"
    done = subprocess.run(
        command,
        shell=True,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 1
    assert "error[AR604]" in done.stderr
    assert "stdout is closed" in done.stderr


@pytest.mark.parametrize(
    ("args", "code"), [(SPEC, 0), (["explain"], 0), (["--help"], 0)]
)
def test_a_reader_that_leaves_changes_nothing(
    tmp_path: Path, args: list[str], code: int
) -> None:
    read, write = os.pipe()
    os.close(read)
    process = start(args, tmp_path, stdout=write)
    os.close(write)
    assert process.communicate()[1] == ""
    assert process.returncode == code


def test_messages_that_nobody_reads_keep_the_exit_code() -> None:
    command = f"{sys.executable} -m allreduce_gen explain AR1 2>&1 >&3 3>&- | true"
    done = subprocess.run(
        ["bash", "-c", f"exec 3>/dev/null; {command}; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert (done.returncode, done.stderr) == (2, b"")


def test_64_ranks_run_on_any_number_of_cores(tmp_path: Path, capsys) -> None:
    path = str(tmp_path / "kernel.py")
    assert run_cli(["--ranks", "64", "--size", "64", "-o", path, "--run", "-q"]) == 0
    assert capsys.readouterr().out == "OK\n"
