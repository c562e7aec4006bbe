"""What goes to the child and back is the same afterwards; the child answers in turn."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from allreduce_gen.diagnostics import Location, Note, codes, diagnose
from allreduce_gen.engines.base import HostTensor, SourceProgram
from allreduce_gen.engines.pypto import child, worker
from allreduce_gen.engines.pypto.child import serve
from allreduce_gen.engines.pypto.messages import (
    decode,
    encode,
    finding_from_json,
    finding_to_json,
    source_from_json,
    source_to_json,
)
from allreduce_gen.errors import CompileError, ExecutionError
from allreduce_gen.spec import DType

SOURCE = SourceProgram(
    file=Path("kernel.py"),
    name="AllReduce",
    platform="a5sim",
    num_ranks=2,
    tensors=(
        HostTensor(name="x", shape=(2, 1, 8), dtype=DType.BF16, is_written=False),
    ),
    scalars=("epoch",),
    text="# a kernel\n",
)
FINDING = diagnose(
    codes.AR702,
    "pypto refused it",
    help="mend it",
    location=Location(file="kernel.py", line=7),
    notes=(Note(label="also", text="that", location=Location(rank=1)),),
)


def test_a_source_comes_back_as_it_went() -> None:
    assert source_from_json(decode(encode(source_to_json(SOURCE)))) == SOURCE


def test_a_finding_comes_back_as_it_went() -> None:
    assert finding_from_json(decode(encode(finding_to_json(FINDING)))) == FINDING


def test_the_child_answers_with_what_it_found(monkeypatch) -> None:
    def refuse(*_, **__) -> None:
        raise CompileError([FINDING])

    monkeypatch.setattr(child, "compile_here", refuse)
    request = {"do": "compile", "source": source_to_json(SOURCE), "devices": None}
    answers = io.BytesIO()
    serve(io.BytesIO(encode(request) * 2), answers)
    first, second = map(decode, answers.getvalue().splitlines())
    assert first == second
    assert first["error"] == "CompileError"
    assert finding_from_json(first["findings"][0]) == FINDING


@pytest.fixture
def stub(tmp_path: Path, monkeypatch):
    """A worker whose child is another module, which stands in for the real one."""

    def start(text: str) -> worker.Worker:
        (tmp_path / "stub.py").write_text(text)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        monkeypatch.setattr(worker, "_CHILD", "stub")
        return worker.Worker(builds_here=False)

    return start


def test_a_child_that_ends_is_named(stub) -> None:
    one = stub("import sys; sys.exit('no device')")
    with pytest.raises(ExecutionError) as caught:
        one.ask({"do": "run"}, None)
    (finding,) = caught.value.diagnostics
    assert finding.code.id == "AR804"
    assert "ended with status 1 before it answered" in finding.message
    assert finding.notes[0].text == "no device"
    assert not one.folder.exists()


def test_a_child_that_hangs_is_ended_with_its_children(stub, tmp_path: Path) -> None:
    one = stub(
        "import signal, subprocess, sys\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"subprocess.Popen([sys.executable, '-c', 'input()', {str(tmp_path)!r}])\n"
        "while True: signal.pause()\n"
    )
    with pytest.raises(ExecutionError) as caught:
        one.ask({"do": "run"}, 1.0)
    (finding,) = caught.value.diagnostics
    assert finding.code.id == "AR803"
    assert finding.message == "stopped after 1 s: pypto had not ended"
    assert not one.is_alive
    assert not one.folder.exists()
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            commands.append(path.read_bytes())
        except OSError:
            continue
    assert not any(str(tmp_path).encode() in one for one in commands)
