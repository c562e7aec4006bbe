"""Rounding after every operation, wrapping, and division toward zero."""

import numpy as np
import pytest

from allreduce_gen.engines.elements import tile_dtype
from allreduce_gen.engines.simulator.arithmetic import combine, scalar_of
from allreduce_gen.ir.events import TileOp
from allreduce_gen.spec import DType


def compute(op, left, right, dtype):
    held = tile_dtype(dtype)
    with np.errstate(all="ignore"):
        return combine(
            op, np.array(left, dtype=held), np.array(right, dtype=held), dtype
        ).tolist()


@pytest.mark.parametrize(
    ("dtype", "left", "right", "total"),
    [
        (DType.BF16, 256.0, 1.0, 256.0),  # half way: to even
        (DType.BF16, 258.0, 1.0, 260.0),
        (DType.BF16, 3e38, 3e38, np.inf),
        (DType.FP16, 2048.0, 1.0, 2048.0),
        (DType.FP16, 60000.0, 60000.0, np.inf),
        (DType.FP32, 16777216.0, 1.0, 16777216.0),
        (DType.INT32, 2**30, 2**30, -(2**31)),
        (DType.INT16, 32767, 1, -32768),
        (DType.INT8, -128, -1, 127),
        (DType.UINT8, 255, 2, 1),
    ],
)
def test_sums_are_those_of_the_type(dtype, left, right, total):
    assert compute(TileOp.ADD, [left], [right], dtype) == [total]


def test_bf16_is_rounded_after_each_operation():
    one_by_one = np.float32(256)
    for _ in range(3):
        one_by_one = combine(
            TileOp.ADD, np.array([one_by_one]), np.array([1], np.float32), DType.BF16
        )[0]
    assert one_by_one == 256.0


def test_integers_divide_toward_zero():
    quotients = compute(TileOp.DIV, [7, -7, 7, -7, 6], [2, 2, -2, -2, -2], DType.INT32)
    assert quotients == [3, -3, -3, 3, -3]


def test_floats_divide_as_floats():
    assert compute(TileOp.DIV, [1.0, -1.0], [4.0, 0.0], DType.FP32) == [0.25, -np.inf]


@pytest.mark.parametrize("op", [TileOp.MAX, TileOp.MIN])
def test_a_nan_wins(op):
    assert np.isnan(compute(op, [np.nan, 1.0], [1.0, np.nan], DType.FP16)).all()


@pytest.mark.parametrize(
    ("op", "wanted"),
    [(TileOp.SUB, -1), (TileOp.MUL, 6), (TileOp.MAX, 3), (TileOp.MIN, 2)],
)
def test_the_other_operators(op, wanted):
    assert compute(op, [2], [3], DType.INT16) == [wanted]


def test_a_scalar_is_rounded_to_the_type_of_the_tile():
    assert scalar_of(257.0, DType.BF16) == 256.0
    assert scalar_of(3.0, DType.INT16).dtype == np.int16
