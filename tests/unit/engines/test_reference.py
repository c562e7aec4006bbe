"""Inputs whose sums are exact, the sums, and how far a right result may be off."""

import numpy as np
import pytest

from allreduce_gen.engines.elements import round_to
from allreduce_gen.engines.reference import (
    make_inputs,
    make_random_inputs,
    reference_all_reduce,
    rounding_bound,
    tolerance,
)
from allreduce_gen.spec import DType, ReduceOp

NUMBERS = [one for one in DType if one is not DType.BOOL]


def add_up(rows, dtype):
    with np.errstate(all="ignore"):
        total = rows[0]
        for row in rows[1:]:
            total = round_to(total + row, dtype)
    return total


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("num_ranks", [1, 2, 3, 16, 60, 64])
def test_sums_are_exact_in_any_order(num_ranks, dtype):
    x = make_inputs(num_ranks=num_ranks, size=97, dtype=dtype)
    expected = reference_all_reduce(x, dtype, ReduceOp.SUM)
    assert np.array_equal(add_up(x, dtype), expected)
    assert np.array_equal(add_up(x[::-1], dtype), expected)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("num_ranks", [2, 7, 64])
def test_neighbouring_elements_ranks_and_tiles_differ(num_ranks, dtype):
    x = make_inputs(num_ranks=num_ranks, size=4096, dtype=dtype)
    total = reference_all_reduce(x, dtype, ReduceOp.SUM)
    assert (x[1:] != x[:-1]).all()
    for shift in (1, 8, 16, 1024):
        assert (x[:, shift:] != x[:, :-shift]).all()
        assert (total[shift:] != total[:-shift]).any()


def test_the_reference_adds_wide_and_rounds_once():
    x = np.array([[256], [1], [1], [1]], dtype=np.float32)
    assert reference_all_reduce(x, DType.BF16, ReduceOp.SUM).tolist() == [260.0]
    halves = np.array([[20000]] * 4, dtype=np.float16)
    assert reference_all_reduce(halves, DType.FP16, ReduceOp.SUM).tolist() == [np.inf]
    whole = np.array([[2**30]] * 4, dtype=np.int32)
    assert reference_all_reduce(whole, DType.INT32, ReduceOp.SUM).tolist() == [0]


@pytest.mark.parametrize("dtype", NUMBERS)
def test_random_inputs_stay_within_the_bound(dtype):
    x = make_random_inputs(num_ranks=8, size=500, dtype=dtype, seed=3)
    again = make_random_inputs(num_ranks=8, size=500, dtype=dtype, seed=3)
    assert np.array_equal(x, again)
    expected = reference_all_reduce(x, dtype, ReduceOp.SUM)
    bound = rounding_bound(x, dtype, ReduceOp.SUM)
    found = add_up(x, dtype)
    if dtype.is_float:
        assert (found != expected).any()
        assert (np.abs(found.astype(float) - expected.astype(float)) <= bound).all()
    else:
        assert np.array_equal(found, expected)
        assert not bound.any()


@pytest.mark.parametrize("dtype", [DType.FP32, DType.FP16, DType.BF16, DType.INT16])
@pytest.mark.parametrize("op", [ReduceOp.MAX, ReduceOp.MIN])
def test_a_reduction_from_zero_shows(op, dtype):
    x = make_inputs(num_ranks=5, size=300, dtype=dtype, op=op)
    expected = reference_all_reduce(x, dtype, op)
    assert np.array_equal(expected, x.max(axis=0) if op is ReduceOp.MAX else x.min(0))
    assert (expected < 0).all() if op is ReduceOp.MAX else (expected > 0).all()
    assert not rounding_bound(x, dtype, op).any()


@pytest.mark.parametrize("dtype", NUMBERS)
def test_products_are_exact_with_few_twos(dtype):
    x = make_inputs(num_ranks=64, size=300, dtype=dtype, op=ReduceOp.PROD)
    assert ((x == 2).sum(axis=0) <= 1).all()
    assert (x == 2).any()
    product = x[0]
    for row in x[1:]:
        product = round_to(product * row, dtype)
    assert np.array_equal(product, reference_all_reduce(x, dtype, ReduceOp.PROD))


@pytest.mark.parametrize("dtype", [DType.FP32, DType.FP16, DType.BF16])
def test_random_products_and_averages_stay_within_the_bound(dtype):
    for op, combine in ((ReduceOp.PROD, np.multiply), (ReduceOp.AVG, np.add)):
        x = make_random_inputs(num_ranks=16, size=500, dtype=dtype, op=op)
        found = x[0]
        for row in x[1:]:
            found = round_to(combine(found, row), dtype)
        if op is ReduceOp.AVG:
            found = round_to(found * round_to(np.array(1 / 16), dtype), dtype)
        expected = reference_all_reduce(x, dtype, op).astype(float)
        off = np.abs(found.astype(float) - expected)
        assert (off <= rounding_bound(x, dtype, op)).all()
        assert off.any()


def test_an_average_is_the_sum_scaled_once():
    x = np.array([[1], [2], [4]], dtype=np.float32)
    average = reference_all_reduce(x, DType.FP32, ReduceOp.AVG)
    assert average.tolist() == [np.float32(7 / 3)]
    assert tolerance(DType.FP32, 3, ReduceOp.AVG) == 5 * 2.0**-24


def test_tolerance_grows_with_the_ranks():
    assert tolerance(DType.FP32, 4, ReduceOp.SUM) == 4 * 2.0**-24
    assert tolerance(DType.BF16, 2, ReduceOp.SUM) == 2 * 2.0**-8
    assert tolerance(DType.INT32, 64, ReduceOp.SUM) == 0


def test_the_reference_keeps_unsigned_numbers_of_64_bits() -> None:
    inputs = np.array([[1, 2**64 - 1], [2**63, 5]], dtype=np.uint64)
    result = reference_all_reduce(inputs, DType.UINT64, ReduceOp.MAX)
    assert result.tolist() == [2**63, 2**64 - 1]
    assert reference_all_reduce(inputs, DType.UINT64, ReduceOp.SUM).tolist() == [
        2**63 + 1,
        4,
    ]
