"""What an emitted main() compares: a result that lacks a rank must not pass."""

from __future__ import annotations

import itertools

import pytest

from allreduce_gen.emitter.wording import TorchCheck, torch_check
from allreduce_gen.spec import Accumulate, AllReduceSpec, DType, ReduceOp

torch = pytest.importorskip("torch")

_TYPES = (DType.FP32, DType.FP16, DType.BF16, DType.INT32, DType.INT16, DType.UINT8)


def _passes(check: TorchCheck, result, want) -> bool:
    rtol, atol = float(check.rtol), float(check.atol)
    return torch.allclose(result.double(), want.double(), rtol=rtol, atol=atol)


_CASES = [
    (dtype, op, accumulate, num_ranks)
    for dtype, op, accumulate, num_ranks in itertools.product(
        _TYPES, ReduceOp, Accumulate, (2, 16, 64)
    )
    if op is not ReduceOp.AVG or dtype.is_float
]


@pytest.mark.parametrize(("dtype", "op", "accumulate", "num_ranks"), _CASES)
def test_what_it_compares(dtype, op, accumulate, num_ranks: int) -> None:
    spec = AllReduceSpec(
        num_ranks=num_ranks, size=4096, dtype=dtype, op=op, accumulate=accumulate
    )
    check = torch_check(spec, ("1", "SIZE"))
    torch.manual_seed(num_ranks)
    names = {"torch": torch, "NUM_RANKS": num_ranks, "SIZE": 4096}
    x = eval(check.inputs, names)
    want = eval(check.want, {"x": x})
    assert x.dtype is want.dtype
    assert x.shape == (num_ranks, 1, 4096)
    assert _passes(check, want, want)
    assert not _passes(check, torch.zeros_like(want), want)
    for missing in (0, num_ranks - 1):
        rest = torch.cat((x[:missing], x[missing + 1 :]))
        if op is ReduceOp.AVG:
            short = (rest.double().sum(dim=0) / num_ranks).to(x.dtype)
        else:
            short = eval(check.want, {"x": rest})
        assert not _passes(check, short, want)


@pytest.mark.parametrize("dtype", [DType.FP16, DType.BF16])
@pytest.mark.parametrize("num_ranks", [2, 3, 16, 64])
def test_a_native_sum_is_exact_in_any_order(dtype: DType, num_ranks: int) -> None:
    spec = AllReduceSpec(
        num_ranks=num_ranks, size=64, dtype=dtype, accumulate=Accumulate.NATIVE
    )
    check = torch_check(spec, ("1", "SIZE"))
    x = eval(check.inputs, {"torch": torch, "NUM_RANKS": num_ranks, "SIZE": 64})
    total = x[0]
    for one in x[1:]:
        total = total + one
    assert torch.equal(total, eval(check.want, {"x": x}))
