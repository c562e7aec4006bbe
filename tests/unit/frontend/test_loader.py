"""Loading: what a file may be, what it meets, and what is left behind."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from allreduce_gen.errors import CompileError
from allreduce_gen.frontend import Kind, load_programs

PROGRAM = """\
import pypto.language as pl

@pl.program
class Some:
    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(self, x: pl.Tensor[[2, 1, 8], pl.FP32]):
        pass
"""


def write(folder: Path, text: str | bytes, name: str = "kernel.py") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refused(path: Path):
    with pytest.raises(CompileError) as caught:
        load_programs(path)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("", "is empty", None),
        (" \n\t\n", "is empty", None),
        ("x = (1,\n", "is not Python: '(' was never closed", 1),
        ("x = 1\ncontinue\n", "is not Python: 'continue' not properly in loop", 2),
        (b"x = '\xff'\n", "is not Python", None),
        (b"x = 1\x00\n", "is not Python", None),
        ("x = 1\ny = 1 / 0\n", "ZeroDivisionError: division by zero", 2),
        ("import no_such_module\n", "No module named 'no_such_module'", 1),
        ("import sys\nsys.exit(3)\n", "SystemExit: 3", 2),
        ("import pypto.no_such\n", "No module named 'pypto.no_such'", 1),
    ],
)
def test_unreadable(tmp_path, text, message: str, line: int | None) -> None:
    path = write(tmp_path, text)
    found = refused(path)
    assert found.code.id == "AR704"
    assert message in found.message
    assert found.location.file == str(path)
    if line is not None:
        assert found.location.line == line


def test_error_inside_a_function_of_the_file_has_its_line(tmp_path) -> None:
    path = write(tmp_path, "def fail():\n    raise KeyError('a')\n\nfail()\n")
    assert refused(path).location.line == 2


def test_missing(tmp_path) -> None:
    found = refused(tmp_path / "absent.py")
    assert found.code.id == "AR704"
    assert "does not exist" in found.message


def test_folder(tmp_path) -> None:
    found = refused(tmp_path)
    assert found.code.id == "AR704"
    assert "cannot be read" in found.message


@pytest.mark.parametrize("text", ["x = 1\n", "import pypto.language as pl\n"])
def test_no_program(tmp_path, text: str) -> None:
    assert refused(write(tmp_path, text)).code.id == "AR705"


def test_program(tmp_path) -> None:
    path = write(tmp_path, PROGRAM)
    (program,) = load_programs(path)
    assert (program.name, program.source) == ("Some", str(path))
    assert program.host.kind is Kind.HOST
    (parameter,) = program.host.parameters
    assert parameter.name == "x"
    assert parameter.type.shape == (2, 1, 8)
    assert parameter.type.dtype.name == "FP32"


def test_main_is_not_run(tmp_path) -> None:
    guarded = PROGRAM + 'if __name__ == "__main__":\n    raise SystemExit(1)\n'
    assert len(load_programs(write(tmp_path, guarded))) == 1


def test_factory_closes_over_its_names(tmp_path) -> None:
    lines = PROGRAM.splitlines(keepends=True)
    text = (
        lines[0]
        + "def make(ranks):\n"
        + "".join(f"    {line}" for line in lines[2:]).replace("[2,", "[ranks,")
        + "    return Some\n\nfirst = make(2)\nsecond = make(5)\nagain = first\n"
    )
    programs = load_programs(write(tmp_path, text))
    assert [one.host.parameters[0].type.shape[0] for one in programs] == [2, 5]


def test_postponed_annotations(tmp_path) -> None:
    text = "from __future__ import annotations\n" + PROGRAM
    (program,) = load_programs(write(tmp_path, text))
    assert program.host.parameters[0].type.shape == (2, 1, 8)


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        ("", "parameter x has no type annotation"),
        (': "pl.Tensor[[1], pl.FP32]"', "is no type of a parameter"),
        (": int", "is no type of a parameter"),
        (": pl.Tensor[[0], pl.FP32]", "is no type that a collective can use"),
        (": pl.Tensor[[1], pl.HF8]", "is no type that a collective can use"),
    ],
)
def test_annotation_refused(tmp_path, annotation: str, message: str) -> None:
    text = PROGRAM.replace(": pl.Tensor[[2, 1, 8], pl.FP32]", annotation)
    found = refused(write(tmp_path, text))
    assert found.code.id == "AR703"
    assert message in found.message
    assert found.location.line == 6


def test_postponed_annotation_of_unknown_names(tmp_path) -> None:
    text = "from __future__ import annotations\n" + PROGRAM.replace("[2,", "[missing,")
    found = refused(write(tmp_path, text))
    assert found.code.id == "AR703"
    assert "NameError: name 'missing' is not defined" in found.message


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("pl.Tensor[[pl.FP32], pl.FP32]", "is no type that a collective can use"),
        ("int", "is no type of a parameter"),
        ("tuple[pl.Scalar[pl.INT32], int]", "`int` is no type of a parameter"),
    ],
)
def test_result_refused(tmp_path, result: str, message: str) -> None:
    found = refused(write(tmp_path, PROGRAM.replace("):\n", f") -> {result}:\n")))
    assert found.code.id == "AR703"
    assert message in found.message


def test_kind_refused(tmp_path) -> None:
    text = PROGRAM.replace(
        "level=pl.Level.HOST, role=pl.Role.Orchestrator", "type=pl.FunctionType.AIC"
    )
    found = refused(write(tmp_path, text))
    assert found.code.id == "AR703"
    assert "function host is of a kind" in found.message


def test_tensor_behind_scalar(tmp_path) -> None:
    text = PROGRAM.replace("self, x", "self, k: pl.Scalar[pl.INT32], x")
    assert "comes after the scalar k" in refused(write(tmp_path, text)).message


def test_operation_outside_a_kernel(tmp_path) -> None:
    found = refused(write(tmp_path, PROGRAM + "pl.load(None, [0], [1])\n"))
    assert found.code.id == "AR703"
    assert "`pl.load(...)` is called outside a kernel" in found.message
    assert found.location.line == 8


def test_everything_is_as_before(tmp_path, monkeypatch) -> None:
    real = object()
    monkeypatch.setitem(sys.modules, "pypto", real)
    write(tmp_path, "import pypto.language as pl\nSIZE = 8\n", "shapes_beside.py")
    text = "import sys\nimport shapes_beside\nSEEN = sys.argv\n" + PROGRAM
    search = list(sys.path)
    load_programs(write(tmp_path, text.replace("1, 8]", "1, shapes_beside.SIZE]")))
    assert sys.modules["pypto"] is real
    assert not [name for name in sys.modules if name.startswith("pypto.")]
    assert "shapes_beside" not in sys.modules
    assert sys.path == search


def test_everything_is_as_before_after_an_error(tmp_path) -> None:
    refused(write(tmp_path, "import pypto.language\n1 / 0\n"))
    assert not [name for name in sys.modules if name.partition(".")[0] == "pypto"]


def test_configuration_and_data_types_work_outside_kernels(tmp_path) -> None:
    text = """\
from pypto import ir
from pypto.ir.distributed_compiled_program import DistributedConfig
from pypto.runtime import RunConfig
CONFIG = RunConfig(distributed_config=DistributedConfig(device_ids=[0, 1]))
assert CONFIG.distributed_config.device_ids == [0, 1]
assert ir.compile
"""
    text += PROGRAM + "assert pl.FP16.get_byte() == 2\n"
    assert len(load_programs(write(tmp_path, text))) == 1
