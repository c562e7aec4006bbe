"""Edits of emitted kernels that a fresh pair of eyes once got past the checks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from allreduce_gen.cli import run_cli
from allreduce_gen.pipeline import generate
from allreduce_gen.spec import Algorithm, AllReduceSpec, DType
from allreduce_gen.verdicts import check_file

STORE = "        result = pl.store(acc, [0, my_chunk], result)\n"


def found(path: Path, text: str, **options: object) -> set[str]:
    path.write_text(text)
    return {
        one.code.id
        for program in check_file(path, **options)  # type: ignore[arg-type]
        for one in program.findings
        if one.is_error
    }


@pytest.fixture
def kernel(tmp_path: Path) -> tuple[Path, str]:
    return tmp_path / "kernel.py", generate(AllReduceSpec(num_ranks=4, size=64)).source


def test_the_kernel_itself_is_clean(kernel) -> None:
    assert found(*kernel) == set()


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        (STORE, f"        acc = pl.mul(acc, 1.0009)\n{STORE}", "AR410"),
        (STORE, f"        acc = pl.mul(acc, 0.2502)\n{STORE}", "AR410"),
        (
            STORE,
            "        cut = pl.cast(acc, pl.INT32)\n"
            f"        acc = pl.cast(cut, pl.FP32)\n{STORE}",
            "AR410",
        ),
        ("acc = pl.add(acc, contribution)", "acc = pl.add(acc, acc)", "AR405"),
        (
            "            acc = pl.add(acc, contribution)\n",
            "            if my_rank == 0:\n"
            "                acc = pl.maximum(acc, contribution)\n"
            "            else:\n"
            "                acc = pl.add(acc, contribution)\n",
            "AR410",
        ),
        (
            STORE,
            f"        if my_rank > 0:\n            acc = pl.mul(acc, 0.25)\n{STORE}",
            "AR410",
        ),
        ("value=1,", "value=2147483648,", "AR703"),
    ],
)
def test_edit_is_found(kernel, before: str, after: str, code: str) -> None:
    path, text = kernel
    assert before in text
    if code == "AR703":
        path.write_text(text.replace(before, after))
        assert run_cli(["check", str(path), "-q"]) == 1
        return
    assert code in found(path, text.replace(before, after, 1))


def test_integers_through_a_type_that_cannot_hold_them(tmp_path: Path) -> None:
    text = generate(AllReduceSpec(num_ranks=4, size=64, dtype=DType.INT32)).source
    assert found(tmp_path / "kernel.py", text) == set()
    for dtype in ("FP32", "FP16", "BF16", "INT16"):
        cut = f"        cut = pl.cast(acc, pl.{dtype})\n"
        back = f"        acc = pl.cast(cut, pl.INT32)\n{STORE}"
        edited = text.replace(STORE, cut + back)
        assert "AR410" in found(tmp_path / "kernel.py", edited)


def test_an_output_passed_as_the_input(kernel) -> None:
    path, text = kernel
    before, after = "self.per_rank(x[r], y[r], ", "self.per_rank(y[r], x[r], "
    assert before in text
    assert found(path, text.replace(before, after)) == {"AR405"}


def test_an_output_that_nobody_writes(kernel) -> None:
    path, text = kernel
    start = text.index("        # All-gather")
    stop = text.index("        return y\n")
    assert found(path, text[:start] + text[stop:]) == {"AR405"}


@pytest.mark.parametrize("algorithm", [Algorithm.RING, Algorithm.TWO_PHASE])
def test_what_was_not_judged_is_not_proved(
    tmp_path: Path, algorithm: Algorithm, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = AllReduceSpec(num_ranks=4, size=4096, algorithm=algorithm)
    text = re.sub(r" *acc = pl.add\(acc, contribution\)\n", "", generate(spec).source)
    path = tmp_path / "kernel.py"
    path.write_text(text)
    assert run_cli(["check", str(path), "--strict"]) == 1
    assert "not judged" in capsys.readouterr().err
    assert run_cli(["check", str(path), "--collective", "all_reduce"]) == 1


def test_atomic_adds_that_the_platform_lacks(tmp_path: Path) -> None:
    spec = AllReduceSpec(num_ranks=2, size=64, dtype=DType.INT64, platform="a5")
    text = generate(spec).source.replace(
        "[0, my_chunk], result)", "[0, my_chunk], result, atomic=pl.AtomicType.Add)"
    )
    assert "AR104" in found(tmp_path / "kernel.py", text, platform="a5")


def test_what_a_file_prints_stays_out_of_results(
    kernel, capsys: pytest.CaptureFixture[str]
) -> None:
    path, text = kernel
    path.write_text(text.replace("import argparse\n", "import argparse\nprint('hi')\n"))
    assert run_cli(["check", str(path), "--format", "json"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("{")
    assert "hi" in err
