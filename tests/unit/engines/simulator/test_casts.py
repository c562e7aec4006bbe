"""Every rounding mode, to integers and to narrower floats."""

import numpy as np
import pytest

from allreduce_gen.engines.elements import tile_dtype
from allreduce_gen.engines.simulator.casts import MODES, cast
from allreduce_gen.spec import DType

HALVES = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.75]


def cast_list(values, source, target, mode):
    array = np.array(values, dtype=tile_dtype(source))
    with np.errstate(all="ignore"):
        return cast(array, source, target, mode).tolist()


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        ("none", [-2, -2, 0, 0, 2, 2, 1]),
        ("rint", [-2, -2, 0, 0, 2, 2, 1]),
        ("round", [-3, -2, -1, 1, 2, 3, 1]),
        ("floor", [-3, -2, -1, 0, 1, 2, 0]),
        ("ceil", [-2, -1, 0, 1, 2, 3, 1]),
        ("trunc", [-2, -1, 0, 0, 1, 2, 0]),
    ],
)
def test_floats_to_integers(mode, wanted):
    assert cast_list(HALVES, DType.FP32, DType.INT32, mode) == wanted


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        ("rint", [256, -256, 260, -260, 258]),
        ("round", [258, -258, 260, -260, 258]),
        ("floor", [256, -258, 258, -260, 258]),
        ("ceil", [258, -256, 260, -258, 258]),
        ("trunc", [256, -256, 258, -258, 258]),
    ],
)
def test_fp32_to_bf16(mode, wanted):
    values = [257, -257, 259, -259, 258]
    assert cast_list(values, DType.FP32, DType.BF16, mode) == wanted


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        ("rint", [2048, -2048, 2052, 0.0, np.inf, -np.inf]),
        ("round", [2050, -2050, 2052, 0.0, np.inf, -np.inf]),
        ("floor", [2048, -2050, 2050, 0.0, 65504, -np.inf]),
        ("ceil", [2050, -2048, 2052, 2.0**-24, np.inf, -65504]),
        ("trunc", [2048, -2048, 2050, 0.0, 65504, -65504]),
    ],
)
def test_fp32_to_fp16(mode, wanted):
    values = [2049, -2049, 2051, 2.0**-26, 1e6, -1e6]
    assert cast_list(values, DType.FP32, DType.FP16, mode) == wanted


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("target", [DType.FP16, DType.BF16, DType.FP32])
def test_a_nan_an_infinity_and_a_signed_zero_stay(mode, target):
    nan, infinity, zero = cast_list([np.nan, np.inf, -0.0], DType.FP32, target, mode)
    assert np.isnan(nan)
    assert infinity == np.inf
    assert np.signbit(zero)


@pytest.mark.parametrize(
    ("target", "largest"),
    [(DType.INT8, 127), (DType.INT32, 2**31 - 1), (DType.INT64, 2**63 - 1024)],
)
def test_a_float_beyond_the_integers_saturates(target, largest):
    values = [1e30, np.inf, np.nan]
    assert cast_list(values, DType.FP32, target, "rint") == [largest, largest, 0]


def test_integers_wrap():
    assert cast_list([300, -129], DType.INT32, DType.INT8, "rint") == [44, 127]


def test_widening_is_exact():
    assert cast_list([0.1], DType.FP16, DType.FP32, "rint") == [float(np.float16(0.1))]
    assert cast_list([7], DType.INT32, DType.FP32, "trunc") == [7.0]
