"""Callers' tensors as bytes."""

from __future__ import annotations

import numpy as np
import pytest

from allreduce_gen.engines.base import HostTensor
from allreduce_gen.engines.lending import lend, make_tensor
from allreduce_gen.errors import ExecutionError
from allreduce_gen.spec import DType

WANTED = HostTensor(name="x", shape=(2, 3), dtype=DType.FP32, is_written=True)


def test_contiguous_memory_is_shared() -> None:
    array = np.zeros((2, 3), dtype=np.float32)
    lent = lend(array, WANTED)
    lent.data.view(np.float32)[4] = 7
    assert array[1, 1] == 7


def test_other_memory_gets_its_values_back() -> None:
    wide = np.zeros((2, 6), dtype=np.float32)
    lent = lend(wide[:, ::2], WANTED)
    lent.data.view(np.float32)[:] = range(6)
    assert not wide.any()
    lent.give_back()
    assert wide[:, ::2].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert not wide[:, 1::2].any()


def test_torch_shares_its_memory() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.zeros((2, 3))
    lend(tensor, WANTED).data.view(np.float32)[5] = 2
    assert tensor[1, 2] == 2
    brain = HostTensor(name="x", shape=(2,), dtype=DType.BF16, is_written=True)
    half = torch.ones(2, dtype=torch.bfloat16)
    assert lend(half, brain).data.view(np.uint16).tolist() == [0x3F80, 0x3F80]
    assert make_tensor(half, brain).dtype is torch.bfloat16


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        (np.zeros((3, 2), dtype=np.float32), "float32 of shape [3, 2]"),
        (np.zeros((2, 3), dtype=np.int32), "int32 of shape [2, 3]"),
        ([1.0], "a list"),
    ],
)
def test_refused(given, seen: str) -> None:
    with pytest.raises(ExecutionError) as caught:
        lend(given, WANTED)
    (found,) = caught.value.diagnostics
    assert found.code.id == "AR505"
    assert found.message == f"x gets {seen}, wanted float32 of shape [2, 3]"


def test_made_tensors_are_zero() -> None:
    made = make_tensor(np.ones(1), WANTED)
    assert (made.shape, made.dtype) == ((2, 3), np.float32)
    assert not made.any()
