"""Scripts executed with the engine in pypto's place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from allreduce_gen.cli.main import run_cli
from allreduce_gen.errors import CheckError, CompileError, ExecutionError
from allreduce_gen.pipeline import generate
from allreduce_gen.pytest_plugin import parse_devices
from allreduce_gen.scripts import check_script, run_script
from allreduce_gen.sessions import ScriptOptions
from allreduce_gen.spec import AllReduceSpec, Form, Reuse

MESH = """\
import sys

import numpy as np
import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir
from pypto.ir.distributed_compiled_program import DistributedConfig

NR = pl.dynamic("NR")
SIZE = 32


@pl.program
class Mesh:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
        data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
        call: pl.Scalar[pl.INT32],
    ):
        ctx = pld.get_comm_ctx(data)
        me = pld.rank(ctx)
        nranks = pld.nranks(ctx)
        data = pl.store(pl.load(x, [0, 0], [1, SIZE]), [0, 0], data)
        for step in pl.range(1, nranks):
            peer = (me + step) % nranks
            pld.system.notify(
                signal, peer, [me, 0], 1, op=pld.NotifyOp.AtomicAdd
            )
        for step in pl.range(1, nranks):
            peer = (me + step) % nranks
            pld.system.wait(signal, [peer, 0], call, cmp=pld.WaitCmp.Ge)
        total = pl.load(data, [0, 0], [1, SIZE])
        for step in pl.range(1, nranks):
            peer = (me + step) % nranks
            part = pld.tile.remote_load(data, peer, [0, 0], [1, SIZE])
            total = pl.add(total, part)
        pl.store(total, [0, 0], y)

    @pl.function(type=pl.FunctionType.Orchestration)
    def per_rank(
        self,
        x: pl.Tensor[[1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]],
        data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[NR, 1], pl.INT32]],
        call: pl.Scalar[pl.INT32],
    ):
        self.kernel(x, y, data, signal, call)

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[NR, 1, SIZE], pl.FP32],
        y: pl.Out[pl.Tensor[[NR, 1, SIZE], pl.FP32]],
        call: pl.Scalar[pl.INT32],
    ):
        data_buf = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
        signal_buf = pld.alloc_window_buffer([NR, 1], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            data = pld.window(data_buf, [1, SIZE], dtype=pl.FP32)
            signal = pld.window(signal_buf, [NR, 1], dtype=pl.INT32)
            self.per_rank(x[r], y[r], data, signal, call, device=r)


"""
MAIN = """\
if __name__ == "__main__":
    ranks = int(sys.argv[1])
    compiled = ir.compile(
        Mesh, distributed_config=DistributedConfig(device_ids=list(range(ranks)))
    )
    x = np.arange(ranks * SIZE, dtype=np.float32).reshape(ranks, 1, SIZE)
    y = np.zeros_like(x)
    compiled(x, y, 1)
    assert (y == x.sum(axis=0)).all()
    print("OK")
"""
JIT = """\
import numpy as np
import pypto.language as pl
import pypto.language.distributed as pld
from pypto.ir.distributed_compiled_program import DistributedConfig
from pypto.runtime import RunConfig


@pl.jit.incore
def double(x: pl.Tensor, y: pl.Out[pl.Tensor], rank: pl.Scalar[pl.INT32]):
    tile = pl.load(x, [0, 0], [8, 8])
    tile = pl.add(tile, pl.cast(rank, target_type=pl.FP32))
    y = pl.store(tile, [0, 0], y)
    return y


@pl.jit
def per_rank(x: pl.Tensor, y: pl.Out[pl.Tensor], rank: pl.Scalar[pl.INT32]):
    return double(x, y, rank)


@pl.jit.host
def host(x: pl.Tensor, y: pl.Out[pl.Tensor]):
    for r in pl.range(pld.world_size()):
        per_rank(x[r], y[r], r, device=r)


config = RunConfig(distributed_config=DistributedConfig(device_ids=[0, 1, 2]))
x = np.ones((3, 8, 8), dtype=np.float32)
y = np.zeros_like(x)
host(x, y, config=config)
assert [int(one.flat[0]) for one in y] == [1, 2, 3]
"""


@pytest.fixture
def script(tmp_path: Path):
    """The file of a script with this text."""

    def write(text: str) -> Path:
        path = tmp_path / "script.py"
        path.write_text(text)
        return path

    return write


def main(body: str) -> str:
    """MESH with a main that compiles for two ranks and then does `body`."""
    return MESH + "\n".join(
        [
            "config = DistributedConfig(device_ids=[0, 1])",
            "compiled = ir.compile(Mesh, distributed_config=config)",
            "x = np.arange(2 * SIZE, dtype=np.float32).reshape(2, 1, SIZE)",
            "y = np.zeros_like(x)",
            body,
        ]
    )


def test_its_own_assertions_decide(script, capsys) -> None:
    assert run_cli(["run", str(script(MESH + MAIN)), "--", "3"]) == 0
    assert capsys.readouterr().out == "OK\n"
    wrong = MAIN.replace("x.sum(axis=0)", "x.sum(axis=0) + 1")
    assert run_cli(["run", str(script(MESH + wrong)), "--", "3"]) == 1
    assert "AssertionError" in capsys.readouterr().err


@pytest.mark.parametrize(("end", "code"), [("sys.exit(7)", 7), ("sys.exit('no')", 1)])
def test_its_exit_code_is_its_own(script, end: str, code: int) -> None:
    assert run_cli(["run", str(script(f"import sys\n{end}\n")), "--"]) == code


def test_module_level_code_makes_it_a_script(script, capsys) -> None:
    path = script(JIT)
    assert run_cli(["run", str(path)]) == 0
    assert run_cli(["check", str(path)]) == 0
    assert "host, 3 ranks" in capsys.readouterr().err


def test_a_script_without_a_program(script) -> None:
    with pytest.raises(CompileError) as caught:
        check_script(script("x = 1\n"), ())
    assert caught.value.diagnostics[0].code.id == "AR705"


def test_a_call_without_outputs_returns_them(script) -> None:
    fixed = main("").replace('NR = pl.dynamic("NR")', "NR = 2")
    body = "assert (compiled(x, 1) == x.sum(axis=0)).all()"
    run_script(script(fixed + body), ())


def test_results_are_written_where_the_caller_looks(script) -> None:
    run_script(
        script(
            main(
                "wide = np.zeros((2, 2, SIZE), dtype=np.float32)\n"
                "compiled(x, wide[:, :1], 1)\n"
                "assert (wide[:, 0] == x.sum(axis=0)[0]).all()\n"
                "assert not wide[:, 1].any()"
            )
        ),
        (),
    )


def test_fresh_windows_in_each_call(script) -> None:
    run_script(
        script(
            main(
                "for _ in range(3):\n"
                "    compiled(x, y, 1)\n"
                "    assert (y == x.sum(axis=0)).all()\n"
                "with compiled.prepare(persistent=True) as worker:\n"
                "    for _ in range(3):\n"
                "        worker(x, y, 1)\n"
                "    assert worker._w._next_alloc_id == 1"
            )
        ),
        (),
    )


KEEP = "prepare(persistent=True, reset_persistent_windows=False) as worker:"


def test_kept_windows_are_checked_over_calls(script) -> None:
    stale = script(
        main(f"with compiled.{KEEP}\n    worker(x, y, 1)\n    worker(x, y, 1)")
    )
    with pytest.raises(CheckError) as caught:
        run_script(stale, ())
    found = {one.code.id for one in caught.value.diagnostics if one.is_error}
    assert "AR401" in found


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("compiled(x)", "takes 3 arguments, got 1"),
        ("compiled(x[0], y, 1)", "x gets a tensor of shape [1, 32]"),
        ("compiled(x.astype(np.int32), y, 1)", "x gets int32 of shape"),
        ("compiled(x, list(y), 1)", "y gets a list"),
        ("compiled(x, y, 'a')", "call gets a str"),
    ],
)
def test_arguments_that_do_not_fit(script, call: str, message: str) -> None:
    with pytest.raises((ExecutionError, CompileError)) as caught:
        run_script(script(main(call)), ())
    assert message in caught.value.diagnostics[0].message


def test_devices_must_be_as_many_as_ranks(script) -> None:
    text = main("").replace('NR = pl.dynamic("NR")', "NR = 4")
    with pytest.raises(CompileError) as caught:
        run_script(script(text), ())
    assert "x has 4 entries for 2 ranks" in caught.value.diagnostics[0].message


def test_ranks_of_the_command_line_count(script) -> None:
    (checked,) = check_script(script(main("")), (), ScriptOptions(num_ranks=3))
    assert checked.trace.num_ranks == 3


def test_check_goes_on_behind_a_program_with_errors(script) -> None:
    racy = main("compiled(x, y, 0)\nprint(y.sum())\n")
    (first, second) = check_script(script(racy), ())
    assert [one.code.id for one in first.findings if one.is_error] == []
    assert "AR401" in {one.code.id for one in second.findings}


def test_check_reports_how_the_script_ends(script) -> None:
    (checked,) = check_script(script(main("raise ValueError('no')")), ())
    assert [one.code.id for one in checked.findings if one.is_error] == ["AR704"]
    assert "raises ValueError: no" in checked.findings[-1].message


def test_other_engines_run_no_scripts(script, capsys) -> None:
    path = str(script(JIT))
    assert run_cli(["run", path, "--engine", "mpi", "--"]) == 2
    assert "runs no scripts" in capsys.readouterr().err


def test_a_whole_pytest_session(tmp_path: Path) -> None:
    (tmp_path / "test_mesh.py").write_text(
        MESH + "def test_mesh(test_config, device_ids):\n"
        "    config = DistributedConfig(device_ids=device_ids[:2])\n"
        "    compiled = ir.compile(\n"
        "        Mesh, platform=test_config.platform, distributed_config=config\n"
        "    )\n"
        "    x = np.ones((2, 1, SIZE), dtype=np.float32)\n"
        "    y = np.zeros_like(x)\n"
        "    compiled(x, y, 1)\n"
        "    assert (y == 2).all()\n"
    )
    plugin = ["-p", "allreduce_gen.pytest_plugin", "-p", "no:cacheprovider"]
    options = ["--platform", "a5sim", "--device", "0-3"]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugin, *options, "test_mesh.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parent.parent), "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout
    assert "1 passed" in ended.stdout


@pytest.mark.parametrize(
    ("text", "devices"),
    [("0", [0]), ("0-3", [0, 1, 2, 3]), ("4,1-2,1", [4, 1, 2])],
)
def test_devices_of_a_session(text: str, devices: list[int]) -> None:
    assert parse_devices(text) == devices


@pytest.mark.parametrize("text", ["", "a", "1-b", "0,,1"])
def test_devices_that_are_none(text: str) -> None:
    with pytest.raises(pytest.UsageError, match="is no list like 0-3"):
        parse_devices(text)


def test_what_a_conftest_of_pypto_imports(script) -> None:
    run_script(
        script(
            main(
                "from pypto import LogLevel\n"
                "from pypto.pypto_core import _set_thread_log_level\n"
                "from pypto.runtime.runner import RunConfig\n"
                "_set_thread_log_level(LogLevel['ERROR'])\n"
                "class Case:\n"
                "    backend: ir.Backend | None = None\n"
                "assert RunConfig(platform='a5').platform == 'a5'\n"
            )
        ),
        (),
    )


def test_nothing_of_pypto_stays_behind(script) -> None:
    before = {name for name in sys.modules if name.startswith("pypto")}
    run_script(script(main("import pypto.backend")), ())
    assert {name for name in sys.modules if name.startswith("pypto")} == before
    assert isinstance(np.zeros(1), np.ndarray)


EPOCHS = """
config = RunConfig(distributed_config=DistributedConfig(device_ids=[0, 1]))
compiled = host.compile({how}config=config)
x = np.ones((2, 1, 64), dtype=np.float32)
y = np.zeros_like(x)
with compiled.prepare(persistent=True, reset_persistent_windows=False) as run:
    for call in range(1, 4):
        run(x, y, call)
        assert (y == 2).all()
"""


def epoch_script(how: str) -> str:
    """The jit kernel whose calls wait for their number, and three calls of it."""
    kernel = generate(
        AllReduceSpec(num_ranks=2, size=64, form=Form.JIT, reuse=Reuse.EPOCH)
    )
    head, _, _ = kernel.source.partition("def main()")
    return f"import numpy as np\n{head}{EPOCHS.format(how=how)}"


def test_a_scalar_that_every_call_passes(script) -> None:
    run_script(script(epoch_script("epoch=pl.RUNTIME, ")), ())


def test_a_scalar_that_is_compiled_in(script) -> None:
    """pypto fixes its value for all calls, so the second waits for 1 again."""
    with pytest.raises(CheckError) as caught:
        run_script(script(epoch_script("epoch=1, ")), ())
    error = caught.value.diagnostics[0]
    assert error.code.id == "AR303"
    assert error.message.startswith("in call 2, barrier round 1 waits for slot")


def test_a_scalar_without_a_value(script) -> None:
    with pytest.raises(CompileError) as caught:
        run_script(script(epoch_script("")), ())
    (error,) = caught.value.diagnostics
    assert error.message == "host is compiled without a value for epoch"
