"""The few words and torch expressions that differ between operators and dtypes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from allreduce_gen.spec import AllReduceSpec, DType, ReduceOp


@dataclass(frozen=True, slots=True, kw_only=True)
class OpWords:
    """How a docstring speaks of an operator: `it adds`, `is summed`, `add`, `+`."""

    noun: str
    verb: str
    participle: str
    infinitive: str
    sign: str


WORDS = {
    ReduceOp.SUM: OpWords(
        noun="sum", verb="adds", participle="summed", infinitive="add", sign="+"
    ),
    ReduceOp.AVG: OpWords(
        noun="mean", verb="adds", participle="summed", infinitive="add", sign="+"
    ),
    ReduceOp.PROD: OpWords(
        noun="product",
        verb="multiplies",
        participle="multiplied",
        infinitive="multiply by",
        sign="*",
    ),
    ReduceOp.MAX: OpWords(
        noun="maximum",
        verb="compares",
        participle="compared",
        infinitive="take the maximum with",
        sign="max ",
    ),
    ReduceOp.MIN: OpWords(
        noun="minimum",
        verb="compares",
        participle="compared",
        infinitive="take the minimum with",
        sign="min ",
    ),
}

_REDUCTIONS = {
    ReduceOp.SUM: "sum",
    ReduceOp.AVG: "mean",
    ReduceOp.PROD: "prod",
    ReduceOp.MAX: "amax",
    ReduceOp.MIN: "amin",
}
_TORCH_DTYPES = {DType.FP16: "float16", DType.BF16: "bfloat16"}
_TOLERANCES = {DType.FP32: 1e-5, DType.FP16: 1e-3, DType.BF16: 1e-2}
_ROUNDOFF = {DType.FP32: 2.0**-24, DType.FP16: 2.0**-11, DType.BF16: 2.0**-8}
_EXACT = (ReduceOp.MAX, ReduceOp.MIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchCheck:
    """How `main()` makes inputs and what it expects, as torch expressions over `x`.

    The tolerance covers one rounding to the dtype and the order of the sum; integers,
    maxima and minima are exact.
    """

    word: str
    inputs: str
    want: str
    rtol: str
    atol: str


def torch_check(spec: AllReduceSpec, dims: tuple[str, ...]) -> TorchCheck:
    """The check for `spec`, whose tensors have the dimensions `dims`."""
    tolerance = _tolerance(spec)
    reduction = _REDUCTIONS[spec.op]
    return TorchCheck(
        word=reduction.removeprefix("a"),
        inputs=_inputs(spec.dtype, ", ".join(("NUM_RANKS", *dims))),
        want=_want(spec.dtype, f"{reduction}(dim=0)"),
        rtol=tolerance,
        atol=tolerance,
    )


def _tolerance(spec: AllReduceSpec) -> str:
    """How far a result for normal random inputs may be off.

    P values of about 1 add up to about sqrt(P), seldom to four times that, and are
    rounded P times in the accumulator's type.
    """
    if not spec.dtype.is_float or spec.op in _EXACT:
        return "0"
    ranks = spec.num_ranks
    order = ranks * _ROUNDOFF[spec.accumulator] * 4 * math.sqrt(ranks)
    least = _TOLERANCES[spec.dtype]
    return f"{max(least, order):.0e}".replace("e-0", "e-")


def _inputs(dtype: DType, shape: str) -> str:
    if dtype is DType.FP32:
        return f"torch.randn({shape})"
    if dtype.is_float:
        return f"torch.randn({shape}).to(torch.{_TORCH_DTYPES[dtype]})"
    low = 0 if dtype.value.startswith("u") else -8
    return f"torch.randint({low}, 9, ({shape})).to(torch.{dtype.value})"


def _want(dtype: DType, reduction: str) -> str:
    """Torch's reduction in a type that loses nothing, rounded once."""
    if dtype is DType.FP32:
        return f"x.{reduction}"
    wide = "float" if dtype.is_float else "long"
    return f"x.{wide}().{reduction}.to(x.dtype)"
