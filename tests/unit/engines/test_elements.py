"""BF16 in numpy, and poison."""

import numpy as np
import pytest

from allreduce_gen.engines.elements import (
    decode,
    encode,
    is_poison,
    memory_dtype,
    poison,
    round_to,
)
from allreduce_gen.spec import DType

FLOATS = [DType.FP32, DType.FP16, DType.BF16]


def test_every_bf16_number_survives_decoding_and_encoding():
    bits = np.arange(1 << 16, dtype=np.uint16)
    values = decode(bits, DType.BF16)
    assert np.array_equal(encode(values, DType.BF16), bits)
    assert np.array_equal(round_to(values, DType.BF16), values, equal_nan=True)


@pytest.mark.parametrize(
    ("value", "rounded"),
    [(257, 256), (259, 260), (-257, -256), (3.4e38, np.inf), (-0.0, -0.0)],
)
def test_bf16_rounds_half_to_even(value, rounded):
    (result,) = round_to(np.array([value]), DType.BF16).tolist()
    assert result == rounded
    assert np.signbit(result) == np.signbit(rounded)


@pytest.mark.parametrize("dtype", FLOATS)
def test_poison_is_a_nan_in_every_float_type(dtype):
    values = decode(poison(64).view(memory_dtype(dtype)), dtype)
    assert np.isnan(values).all()
    assert is_poison(values, dtype)
    assert not is_poison(np.zeros_like(values), dtype)


def test_poison_is_recognised_in_integers():
    assert poison(4).view(np.int32)[0] == 2146271213
    assert poison(3).size == 3
    assert is_poison(np.array(2146271213, np.int32), DType.INT32)
