"""Edits of emitted kernels that a fresh pair of eyes once got past the checks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from allreduce_gen.cli import run_cli
from allreduce_gen.pipeline import generate
from allreduce_gen.spec import Algorithm, AllReduceSpec, DType
from allreduce_gen.verdicts import check_file

from .sources import MESH_WINDOWS, STAGE_IN, barrier, write_program

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


def reduced(
    op: str, *, each: str = "{}", last: str = "", span: str = "0, SIZE", first: str = ""
) -> str:
    """Everybody combines elements `span` of everybody's data by `op`.

    `each` is what is done to one contribution, and `last` to the result `acc`.
    """
    start, size = span.split(", ")
    at = f"[0, {start}]"
    lines = [
        f"own = pl.load(data, {at}, [1, {size}])",
        f"acc = {each.format('own')}",
        first,
        "for step in pl.range(1, NUM_RANKS):",
        "    peer = (my_rank + step) % NUM_RANKS",
        "    part = pld.tile.remote_load(",
        f"        data, peer=peer, offsets={at}, shape=[1, {size}]",
        "    )",
        f"    mine = {each.format('part')}",
        f"    acc = {op}(acc, mine)",
        *last.splitlines(),
        f"y = pl.store(acc, {at}, y)",
    ]
    return "\n".join(line for line in lines if line)


def program(*last: str, dtype: str = "FP32", num_ranks: int = 4, **options) -> str:
    options = {"windows": MESH_WINDOWS, **options}
    phases = (STAGE_IN, barrier(), *last)
    return write_program(*phases, num_ranks=num_ranks, dtype=dtype, **options)


def errors(folder: Path, text: str, **options: object) -> list[str]:
    (folder / "kernel.py").write_text(text)
    return [
        one.message
        for checked in check_file(folder / "kernel.py", **options)  # type: ignore[arg-type]
        for one in checked.findings
        if one.is_error
    ]


NEGATE_EACH, NEGATE = "pl.neg({})", "acc = pl.neg(acc)"


@pytest.mark.parametrize(
    ("op", "each", "last", "seen"),
    [
        ("pl.mul", "pl.mul({}, 2.0)", "acc = pl.mul(acc, 0.5)", "by 8"),
        ("pl.mul", "pl.mul({}, 0.25)", "acc = pl.mul(acc, 4.0)", "by 0.0156"),
        ("pl.mul", "pl.mul({}, 0.5)", "acc = pl.mul(acc, 16.0)", ""),
        ("pl.mul", NEGATE_EACH, NEGATE, "by -1"),
        ("pl.mul", NEGATE_EACH, "", ""),
        ("pl.maximum", NEGATE_EACH, NEGATE, ""),
        ("pl.minimum", "pl.mul({}, -1.0)", NEGATE, ""),
        ("pl.maximum", NEGATE_EACH, "", "by -1"),
        ("pl.add", NEGATE_EACH, NEGATE, ""),
    ],
)
def test_factors_are_those_of_the_operator(
    tmp_path: Path, op: str, each: str, last: str, seen: str
) -> None:
    messages = errors(tmp_path, program(reduced(op, each=each, last=last)))
    assert len(messages) == bool(seen)
    assert all(f"elements scaled {seen}" in one for one in messages)


LOW, HIGH = "0, CHUNK * 2", "CHUNK * 2, CHUNK * 2"
MAXIMUM = reduced("pl.maximum", span=LOW)
TWICE = reduced("pl.maximum", span=LOW, first="acc = pl.maximum(acc, acc)")
MINIMUM = reduced("pl.maximum", span=HIGH, each=NEGATE_EACH, last=NEGATE)


@pytest.mark.parametrize(
    ("low", "high", "seen"),
    [
        (MAXIMUM, MINIMUM, "minimum in y[32:64] of ranks 0, 1, 2 and 3, but maximum"),
        (TWICE, reduced("pl.add", span=HIGH), "sum in y[32:64] of ranks 0, 1, 2 and 3"),
        (TWICE, MINIMUM, "minimum in y[32:64] of ranks 0, 1, 2 and 3, but maximum"),
        (TWICE, reduced("pl.maximum", span=HIGH), ""),
    ],
)
def test_halves_by_two_operators(
    tmp_path: Path, low: str, high: str, seen: str
) -> None:
    renamed = re.sub(r"\b(own|acc|part|mine)\b", r"\1_high", high)
    messages = errors(tmp_path, program(low, renamed))
    assert len(messages) == bool(seen)
    assert all(seen in one for one in messages)


def test_a_minimum_within_a_maximum(tmp_path: Path) -> None:
    step = "    acc = pl.maximum(acc, mine)\n"
    turned = (
        "    if step == 1:\n"
        f"    {step}"
        "    else:\n"
        "        least = pl.neg(acc)\n"
        "        other = pl.neg(mine)\n"
        "        most = pl.maximum(least, other)\n"
        "        acc = pl.neg(most)\n"
    )
    text = reduced("pl.maximum")
    assert step in text
    (message,) = errors(tmp_path, program(text.replace(step, turned)))
    assert "min and max mixed" in message


HALVE_EACH = "pl.div({}, 2)"
LOST = "fractions that integers lost before the last step"


@pytest.mark.parametrize(
    ("dtype", "each", "last", "seen"),
    [
        ("INT32", "{}", "acc = pl.div(acc, 4)", ""),
        ("INT32", "{}", "acc = pl.div(acc, 2)\nacc = pl.div(acc, 2)", ""),
        ("INT32", NEGATE_EACH, NEGATE, ""),
        ("INT32", "pl.div({}, 4)", "", LOST),
        ("INT32", HALVE_EACH, "acc = pl.mul(acc, 2)", LOST),
        (
            "INT32",
            "{}",
            "acc = pl.div(acc, 2)\nacc = pl.mul(acc, 2)",
            "int32 elements multiplied by 2 on their way",
        ),
        (
            "INT16",
            "{}",
            "acc = pl.mul(acc, 2)\nacc = pl.div(acc, 2)",
            "int16 elements multiplied by 2 on their way",
        ),
        ("INT32", "{}", "acc = pl.mul(acc, 0.25)", "int32 elements multiplied by 0.25"),
        (
            "INT16",
            "{}",
            "wide = pl.cast(acc, pl.FP32)\nwide = pl.mul(wide, 0.5)\n"
            "acc = pl.cast(wide, pl.INT16)\nwide = pl.cast(acc, pl.FP32)\n"
            "wide = pl.mul(wide, 2.0)\nacc = pl.cast(wide, pl.INT16)",
            LOST,
        ),
        (
            "INT16",
            "{}",
            "wide = pl.cast(acc, pl.FP32)\nwide = pl.mul(wide, 0.25)\n"
            "acc = pl.cast(wide, pl.INT16)",
            "",
        ),
        ("FP32", "pl.mul({}, 0.25)", "", ""),
        ("FP16", "pl.mul({}, 0.25)", "acc = pl.mul(acc, 4.0)", ""),
        (
            "FP16",
            "{}",
            "acc = pl.mul(acc, 4096.0)\nacc = pl.mul(acc, 0.000244140625)",
            "elements scaled by 4096 on their way",
        ),
        (
            "FP32",
            "{}",
            "acc = pl.mul(acc, 1e39)\nacc = pl.mul(acc, 1e-39)",
            "elements scaled by 1e+39 on their way",
        ),
        (
            "FP32",
            "pl.mul({}, 1e-30)",
            "acc = pl.mul(acc, 1e30)",
            "elements scaled by 1e-30 on their way",
        ),
    ],
)
def test_factors_that_make_up_for_each_other(
    tmp_path: Path, dtype: str, each: str, last: str, seen: str
) -> None:
    text = program(reduced("pl.add", each=each, last=last), dtype=dtype)
    messages = errors(tmp_path, text)
    assert len(messages) == bool(seen)
    assert all(seen in one for one in messages)


def test_a_mean_of_64_ranks_before_or_after(tmp_path: Path) -> None:
    scale = "pl.mul({}, 0.015625)"
    for each, last in ((scale, ""), ("{}", f"acc = {scale.format('acc')}")):
        text = reduced("pl.add", each=each, last=last)
        assert errors(tmp_path, program(text, num_ranks=64)) == []


@pytest.mark.parametrize(
    ("before", "after", "seen"),
    [
        (
            "    acc = pl.add(acc, mine)\n",
            "    if epoch == 2:\n        acc = pl.maximum(acc, mine)\n"
            "    else:\n        acc = pl.add(acc, mine)\n",
            "maximum in call 2, but sum in calls 1 and 3",
        ),
        (
            "y = pl.store(acc",
            "if epoch == 2:\n    acc = pl.mul(acc, 0.25)\ny = pl.store(acc",
            "sum scaled by 0.25 in call 2, but sum in calls 1 and 3",
        ),
        ("", "", ""),
    ],
)
def test_calls_that_take_turns(
    tmp_path: Path, before: str, after: str, seen: str
) -> None:
    total = reduced("pl.add").replace(before, after) if before else reduced("pl.add")
    text = write_program(
        STAGE_IN,
        barrier(expected="epoch"),
        total,
        barrier("ROW_B", expected="epoch"),
        num_ranks=4,
        windows=MESH_WINDOWS,
        epoch=True,
    )
    messages = errors(tmp_path, text, num_calls=3)
    assert messages == ([f"y is made by two operators: {seen}"] if seen else [])
