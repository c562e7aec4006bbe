"""AR802: which rank, which element, how many."""

import numpy as np
import pytest

from allreduce_gen.diagnostics import codes
from allreduce_gen.engines.compare import compare_with_reference
from allreduce_gen.engines.elements import poison
from allreduce_gen.spec import DType

EXPECTED = np.array([10, 20, 30, 40], dtype=np.float32)


@pytest.fixture
def result():
    return np.tile(EXPECTED, (3, 1))


def test_equal_rows_are_no_finding(result):
    assert compare_with_reference(result, EXPECTED, dtype=DType.FP32) is None


def test_the_first_wrong_element_is_named(result):
    result[1, 2:] = 6
    result[2, 0] = 7
    finding = compare_with_reference(result, EXPECTED, dtype=DType.FP32)
    assert finding.code is codes.AR802
    assert finding.message == (
        "rank 1, y[2]: wanted 30.0, got 6.0; 3 of 12 elements differ, on 2 of 3 ranks"
    )
    assert finding.location.rank == 1
    assert finding.notes == ()


def test_the_bound_may_be_one_number_or_one_an_element(result):
    result[0, 3] = 40.5
    wide, narrow = np.array([0, 0, 0, 0.5]), np.array([0.5, 0.5, 0.5, 0.25])
    for bound in (0.5, wide):
        finding = compare_with_reference(
            result, EXPECTED, dtype=DType.FP32, bound=bound
        )
        assert finding is None
    finding = compare_with_reference(result, EXPECTED, dtype=DType.FP32, bound=narrow)
    assert finding.message.startswith("rank 0, y[3]: wanted 40.0, got 40.5; 1 of 12")


def test_nan_equals_nan_and_infinity_itself():
    expected = np.array([np.nan, np.inf], dtype=np.float16)
    same = np.tile(expected, (2, 1))
    assert compare_with_reference(same, expected, dtype=DType.FP16) is None
    other = np.array([[np.nan, -np.inf]], dtype=np.float16)
    assert compare_with_reference(other, expected, dtype=DType.FP16) is not None


def test_an_element_that_nobody_wrote_is_called_that(result):
    result[2] = poison(16).view(np.float32)
    finding = compare_with_reference(result, EXPECTED, dtype=DType.FP32)
    assert [note.text for note in finding.notes] == ["that element was never written"]


def test_another_shape_is_a_finding():
    whole = np.zeros((2, 16), np.uint8)
    finding = compare_with_reference(whole, EXPECTED, dtype=DType.FP32, name="out")
    assert finding.message == "out has shape [2, 16], wanted [ranks, 4]"
