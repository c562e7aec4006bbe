"""The real pypto, where it is installed: compiled, refused with a line, run right."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import pytest

from allreduce_gen import AllReduceSpec, DType, Form, ReduceOp, generate
from allreduce_gen.engines.base import EngineName, HostTensor, RunOptions, SourceProgram
from allreduce_gen.engines.pypto import compile_source, run_pypto
from allreduce_gen.engines.pypto.engine import compile_with
from allreduce_gen.engines.pypto.worker import Worker
from allreduce_gen.errors import CompileError, ExecutionError
from allreduce_gen.verdicts import check_for_run, run_checked

GOLDEN = Path(__file__).parents[3] / "golden" / "kernels"
KERNEL = GOLDEN / "two_phase_p4_n4096_fp32.py"

pytestmark = pytest.mark.pypto


@pytest.fixture(scope="module")
def workers():
    """A process for each of two platforms: pypto serves one backend a process."""
    with ExitStack() as stack:
        yield {
            platform: stack.enter_context(closing(Worker(builds_here=False)))
            for platform in ("a2a3sim", "a5sim")
        }


@pytest.mark.usefixtures("frontend")
@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.py")), ids=lambda one: one.stem)
def test_pypto_accepts_every_golden(path: Path, workers) -> None:
    platform = "a5sim" if path.stem.endswith("_a5") else "a2a3sim"
    for checked in check_for_run(path, platform=platform):
        assert compile_with(workers[platform], checked.source, RunOptions()).is_dir()


@pytest.mark.usefixtures("frontend")
def test_the_conformance_page_has_every_golden() -> None:
    page = (GOLDEN.parents[2] / "docs" / "reference" / "conformance.md").read_text()
    listed = [line.split("`")[1] for line in page.splitlines() if line[:3] == "| `"]
    assert listed == sorted(path.name for path in GOLDEN.glob("*.py"))


@pytest.mark.usefixtures("frontend")
def test_a_refusal_is_quoted_with_the_kernels_line(tmp_path: Path) -> None:
    text = KERNEL.read_text().replace(
        "pl.range(1, NUM_RANKS)", "range(1, NUM_RANKS)", 1
    )
    source = SourceProgram(
        file=tmp_path / "kernel.py",
        name="AllReduce",
        platform="a2a3sim",
        num_ranks=4,
        tensors=(
            HostTensor(
                name="x", shape=(4, 1, 4096), dtype=DType.FP32, is_written=False
            ),
        ),
        text=text,
    )
    with pytest.raises(CompileError) as caught:
        compile_source(source, RunOptions())
    (finding,) = caught.value.diagnostics
    assert finding.code.id == "AR702"
    assert "For loop must use pl.range()" in finding.message
    assert finding.location is not None
    line = next(
        number
        for number, line in enumerate(text.splitlines(), start=1)
        if " in range(" in line
    )
    assert finding.location.line == line


@pytest.mark.usefixtures("simulator")
def test_a_kernel_runs_right_twice_on_one_worker() -> None:
    kernel = generate(AllReduceSpec(num_ranks=2, size=64))
    for factor in (1, 3):
        x = factor * np.arange(128, dtype=np.float32).reshape(2, 64)
        outputs = kernel.run(x, engine="pypto", options=RunOptions(timeout=300)).outputs
        assert np.array_equal(outputs, np.broadcast_to(x.sum(axis=0), (2, 64)))


@pytest.mark.usefixtures("simulator")
@pytest.mark.parametrize("form", Form)
def test_both_forms_run_right(form: Form, tmp_path: Path) -> None:
    spec = AllReduceSpec(
        num_ranks=2, size=64, dtype=DType.BF16, op=ReduceOp.MAX, form=form
    )
    path = tmp_path / "kernel.py"
    generate(spec).write(path)
    for checked in check_for_run(path):
        report = run_checked(checked, EngineName.PYPTO, RunOptions(timeout=300))
        assert report.num_ranks == 2


@pytest.mark.usefixtures("simulator")
def test_a_rank_that_is_blocked_for_good_ends_at_the_limit() -> None:
    kernel = generate(AllReduceSpec(num_ranks=2, size=64))
    text = kernel.source.replace("expected=1", "expected=2", 1)
    source = SourceProgram(
        file=Path("kernel.py"),
        name="AllReduce",
        platform="a2a3sim",
        num_ranks=2,
        tensors=tuple(
            HostTensor(
                name=name, shape=(2, 1, 64), dtype=DType.FP32, is_written=name == "y"
            )
            for name in "xy"
        ),
        text=text,
    )
    with pytest.raises(ExecutionError) as caught:
        run_pypto(source, {"x": np.ones((2, 64), np.float32)}, RunOptions(timeout=20))
    (finding,) = caught.value.diagnostics
    assert finding.code.id == "AR803"
