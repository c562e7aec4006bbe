"""The library: tensors of either kind in and out, findings, the reference page."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import allreduce_gen
from allreduce_gen import (
    Algorithm,
    AllReduceSpec,
    DType,
    ReduceOp,
    Reuse,
    RunOptions,
    Schedule,
    check_source,
    generate,
)
from allreduce_gen.cli.api_page import format_api_page
from allreduce_gen.engines.tensors import stack
from allreduce_gen.errors import (
    CheckError,
    EngineUnavailableError,
    ExecutionError,
    SpecError,
)

ROOT = Path(__file__).parents[2]
SPEC = AllReduceSpec(num_ranks=4, size=64)


@pytest.fixture(scope="module")
def kernel():
    return generate(SPEC)


def numbers(*shape: int) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("shape", [(4, 64), (4, 1, 64), (4, 8, 8)])
def test_a_stacked_array_gives_one_of_its_shape(kernel, shape) -> None:
    x = numbers(*shape)
    outputs = kernel.run(x).outputs
    assert np.array_equal(outputs, np.broadcast_to(x.sum(axis=0), shape))


def test_a_list_gives_a_list_of_the_same_shapes(kernel) -> None:
    inputs = [numbers(8, 8) + rank for rank in range(4)]
    result = kernel.run(inputs)
    assert [one.shape for one in result.outputs] == [(8, 8)] * 4
    assert all(np.array_equal(one, sum(inputs)) for one in result.outputs)
    assert result.counters[0].remote_bytes == 2 * 48 * 4


def test_inputs_stay_as_they_were(kernel) -> None:
    x = numbers(4, 64)
    kernel.run(x)
    assert np.array_equal(x, numbers(4, 64))


@pytest.mark.parametrize("reuse", Reuse)
def test_one_call_is_run_however_many_were_proved(reuse: Reuse) -> None:
    kernel = generate(AllReduceSpec(num_ranks=2, size=64, reuse=reuse))
    outputs = kernel.run(numbers(2, 64)).outputs
    assert np.array_equal(outputs[1], numbers(2, 64).sum(axis=0))


def test_torch_tensors_come_back_as_torch_tensors(kernel) -> None:
    torch = pytest.importorskip("torch")
    inputs = [torch.full((64,), float(rank)) for rank in range(4)]
    outputs = kernel.run(inputs).outputs
    assert all(torch.equal(one, torch.full((64,), 6.0)) for one in outputs)
    stacked = kernel.run(torch.stack(inputs)).outputs
    assert torch.equal(stacked, torch.full((4, 64), 6.0))


def test_bfloat16_goes_by_its_bits() -> None:
    torch = pytest.importorskip("torch")
    kernel = generate(
        AllReduceSpec(num_ranks=2, size=64, dtype=DType.BF16, op=ReduceOp.MAX)
    )
    x = torch.arange(128, dtype=torch.bfloat16).reshape(2, 64)
    outputs = kernel.run(x).outputs
    assert outputs.dtype is torch.bfloat16
    assert torch.equal(outputs, x[1].expand(2, 64))
    bits = x.view(torch.int16).numpy().view(np.uint16)
    assert np.array_equal(kernel.run(bits).outputs[0], bits[1])
    values = x.float().numpy()
    assert np.array_equal(kernel.run(values).outputs[0], values[1])


def test_nothing_is_copied_on_the_way_in_and_out() -> None:
    torch = pytest.importorskip("torch")
    x = torch.zeros(4, 8, 8, dtype=torch.bfloat16)
    stacked = stack(x, num_ranks=4, size=64, dtype=DType.BF16)
    stacked.values[0, 0] = 0x3F80
    assert x[0, 0, 0] == 1.0
    y = np.zeros((4, 64), np.float32)
    z = torch.zeros(4, 64)
    restored = stack(z, num_ranks=4, size=64, dtype=DType.FP32).restore(y)
    y[0, 0] = 5.0
    assert restored[0, 0] == 5.0


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        (np.zeros((3, 64), np.float32), "3 ranks and 192 elements in all were given"),
        (np.zeros((4, 63), np.float32), "4 ranks and 252 elements in all were given"),
        ([np.zeros(64, np.float32)] * 3, "3 ranks and 192 elements in all were given"),
        ([], "0 ranks and 0 elements in all were given"),
        (np.zeros((4, 64)), "takes fp32, but the inputs hold float64"),
        (np.zeros((4, 64), np.int32), "takes fp32, but the inputs hold int32"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(kernel, inputs, words: str) -> None:
    with pytest.raises(ExecutionError) as caught:
        kernel.run(inputs)
    (finding,) = caught.value.diagnostics
    assert finding.code.id == "AR505"
    assert words in finding.message


def test_words_stand_for_members_and_paths_may_be_text(tmp_path: Path) -> None:
    spec = AllReduceSpec(
        num_ranks=np.int64(4), size=64, algorithm="ring", dtype="fp16", op="max"
    )
    assert spec == AllReduceSpec(
        num_ranks=4,
        size=64,
        algorithm=Algorithm.RING,
        dtype=DType.FP16,
        op=ReduceOp.MAX,
    )
    assert replace(spec, reuse="self-clearing", shape=[1, 64]).shape == (1, 64)
    assert RunOptions(schedule="both_late") == RunOptions(schedule=Schedule.BOTH_LATE)
    path = tmp_path / "kernel.py"
    generate(spec).write(str(path))
    assert path.is_file()


@pytest.mark.parametrize(
    ("call", "message", "help"),
    [
        (
            lambda: replace(SPEC, algorithm="rings"),
            "algorithm='rings' is not a word of Algorithm",
            "two_phase, mesh, ring,",
        ),
        (lambda: replace(SPEC, op="mean"), "op='mean' is not", "sum, max, min, prod"),
        (lambda: replace(SPEC, size=64.0), "size=64.0 is not a whole", "size an int"),
        (lambda: replace(SPEC, num_ranks=True), "num_ranks=True is not", "an int"),
        (lambda: replace(SPEC, num_ranks="4"), "num_ranks='4' is not", "an int"),
        (lambda: replace(SPEC, order="any"), "order='any'", "ascending, or None"),
        (lambda: replace(SPEC, shape=64), "shape=64 is not", "a tuple of ints"),
        (lambda: replace(SPEC, groups=(2, 1, 2)), "groups=(2, 1, 2)", "two ints"),
        (lambda: replace(SPEC, in_place=1), "in_place=1 is not", "True or False"),
        (lambda: replace(SPEC, platform=5), "platform=5 is not", "a str"),
        (lambda: RunOptions(schedule="late"), "schedule='late'", "one-rank-late"),
        (lambda: RunOptions(timeout=-1), "timeout=-1 is not", "seconds above 0"),
        (lambda: RunOptions(devices=[0, 0]), "devices=[0, 0]", "one a rank"),
        (lambda: allreduce_gen.run("k.py", platform="foo"), "platform='foo'", "a2a3"),
        (lambda: allreduce_gen.run("k.py", engine="abacus"), "'abacus'", "simulator"),
        (lambda: check_source("", platform="zz"), "platform='zz'", "a2a3sim"),
    ],
)
def test_a_value_that_means_nothing_is_named(call, message: str, help: str) -> None:
    with pytest.raises(SpecError) as caught:
        call()
    (finding,) = caught.value.diagnostics
    assert finding.code.id == "AR107"
    assert message in finding.message
    assert help in finding.help


def test_all_values_that_mean_nothing_are_named_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        AllReduceSpec(num_ranks=4, size="64K", dtype="fp64")
    seen = [one.message.partition("=")[0] for one in caught.value.diagnostics]
    assert seen == ["size", "dtype"]


def test_a_kernel_refuses_what_is_no_engine_or_platform(kernel) -> None:
    with pytest.raises(SpecError, match="engine='abacus' is not a word of EngineName"):
        kernel.run(numbers(4, 64), engine="abacus")
    with pytest.raises(SpecError, match="platform='a9' is not the name of a platform"):
        kernel.compile(platform="a9")


def test_compile_names_what_is_missing(kernel, monkeypatch) -> None:
    from allreduce_gen.engines.pypto import parts

    monkeypatch.setattr(parts, "_folders", lambda _: None)
    with pytest.raises(EngineUnavailableError, match="it is not installed"):
        kernel.compile()


def test_a_kernel_its_text_and_its_file_are_sound(kernel, tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    kernel.write(path)
    assert path.read_text() == kernel.source
    assert allreduce_gen.check(kernel) == ()
    assert allreduce_gen.check(path) == ()
    assert check_source(kernel.source) == ()
    (report,) = allreduce_gen.run(path)
    assert (report.num_ranks, report.size) == (4, 64)


def test_a_fault_in_a_text_is_found_and_not_run(kernel, tmp_path: Path) -> None:
    broken = kernel.source.replace("ROW_REDUCED = 1", "ROW_REDUCED = 0")
    assert {"AR303", "AR401"} <= {one.code.id for one in check_source(broken)}
    path = tmp_path / "kernel.py"
    path.write_text(broken)
    with pytest.raises(CheckError):
        allreduce_gen.run(path)


def test_names_are_those_that_are_exported() -> None:
    assert dir(allreduce_gen) == sorted(allreduce_gen.__all__)
    assert all(hasattr(allreduce_gen, name) for name in allreduce_gen.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = allreduce_gen.nothing


def test_the_version_has_one_home() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["hatch"]["version"]["path"] == "allreduce_gen/__init__.py"


def test_the_reference_page_is_up_to_date() -> None:
    page = ROOT / "docs" / "reference" / "api.md"
    assert page.read_text(encoding="utf-8") == format_api_page()
