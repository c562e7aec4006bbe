"""Every spec that cannot be planned is refused with its numbers."""

import dataclasses

import pytest

from allreduce_gen.planner import check_spec
from allreduce_gen.spec import Accumulate, AllReduceSpec, DType, ReduceOp
from allreduce_gen.targets import accumulator


def findings(**fields: object) -> list[tuple[str, str, str]]:
    spec = AllReduceSpec(**({"num_ranks": 4, "size": 4096} | fields))  # type: ignore[arg-type]
    return [(one.code.id, one.message, one.help) for one in check_spec(spec)]


def test_a_good_spec_has_no_finding() -> None:
    assert findings() == []


@pytest.mark.parametrize(
    ("fields", "code", "message"),
    [
        ({"num_ranks": 0}, "AR101", "0 ranks; an all-reduce needs at least 1"),
        ({"num_ranks": -1}, "AR101", "-1 ranks; an all-reduce needs at least 1"),
        ({"size": 0}, "AR102", "0 elements; each rank contributes at least 1"),
        ({"size": -4}, "AR102", "-4 elements; each rank contributes at least 1"),
        (
            {"size": 2**40 + 1},
            "AR102",
            "1099511627777 elements; plans are made for up to 1099511627776 (1024G)",
        ),
        (
            {"num_ranks": 65, "size": 65 * 8},
            "AR106",
            "65 ranks; a communication context holds 64",
        ),
        (
            {"size": 16, "strict_divisible": True},
            "AR103",
            "16 elements over 4 ranks: a chunk of 4 is 16 bytes, needs a multiple of "
            "32",
        ),
        (
            {"size": 17, "strict_divisible": True},
            "AR103",
            "17 elements do not divide among 4 ranks: 1 left over",
        ),
        (
            {"accumulate": Accumulate.NATIVE},
            "AR107",
            "sum of fp32 keeps to its type as it is; --accumulate native means nothing",
        ),
        (
            {"accumulate": Accumulate.NATIVE, "dtype": DType.INT32, "num_ranks": 1},
            "AR107",
            "sum of int32 keeps to its type as it is; --accumulate native means "
            "nothing",
        ),
        ({"dtype": DType.INT64}, "AR104", "a2a3sim cannot sum int64"),
        ({"platform": "a1"}, "AR107", "unknown platform 'a1'"),
    ],
)
def test_refusals(fields: dict[str, object], code: str, message: str) -> None:
    assert [(one[0], one[1]) for one in findings(**fields)] == [(code, message)]


def test_all_findings_are_collected() -> None:
    assert [one[0] for one in findings(num_ranks=0, size=0)] == ["AR101", "AR102"]


@pytest.mark.parametrize(
    ("dtype", "op", "platform", "expected"),
    [
        (DType.FP16, ReduceOp.SUM, "a2a3sim", DType.FP32),
        (DType.FP16, ReduceOp.MAX, "a2a3sim", DType.FP16),
        (DType.FP16, ReduceOp.MIN, "a5", DType.FP16),
        (DType.BF16, ReduceOp.MAX, "a2a3", DType.FP32),
        (DType.BF16, ReduceOp.MAX, "a5sim", DType.BF16),
        (DType.BF16, ReduceOp.PROD, "a5sim", DType.FP32),
        (DType.INT8, ReduceOp.SUM, "a5sim", DType.INT8),
    ],
)
def test_only_what_rounds_is_widened(dtype, op, platform, expected) -> None:
    spec = AllReduceSpec(num_ranks=4, size=64, dtype=dtype, op=op, platform=platform)
    assert accumulator(spec) is expected
    native = dataclasses.replace(spec, accumulate=Accumulate.NATIVE)
    assert accumulator(native) is dtype
