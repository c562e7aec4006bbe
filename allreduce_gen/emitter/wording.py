"""The few words and torch expressions that differ between operators and dtypes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from allreduce_gen.spec import AllReduceSpec, DType, ReduceOp
from allreduce_gen.targets import accumulator


@dataclass(frozen=True, slots=True, kw_only=True)
class OpWords:
    """How a docstring speaks of an operator: `it adds`, `is summed`, `add`, `+`.

    `verb` goes with all that is combined, `takes` and `infinitive` with what comes to
    what is there.
    """

    noun: str
    verb: str
    takes: str
    participle: str
    infinitive: str
    sign: str


_ADDED = OpWords(
    noun="sum",
    verb="adds",
    takes="adds",
    participle="summed",
    infinitive="add",
    sign="+",
)
WORDS = {
    ReduceOp.SUM: _ADDED,
    ReduceOp.AVG: replace(_ADDED, noun="mean"),
    ReduceOp.PROD: OpWords(
        noun="product",
        verb="multiplies",
        takes="multiplies by",
        participle="multiplied",
        infinitive="multiply by",
        sign="*",
    ),
    ReduceOp.MAX: OpWords(
        noun="maximum",
        verb="takes the maximum of",
        takes="takes the maximum with",
        participle="reduced",
        infinitive="take the maximum with",
        sign="max ",
    ),
    ReduceOp.MIN: OpWords(
        noun="minimum",
        verb="takes the minimum of",
        takes="takes the minimum with",
        participle="reduced",
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
_TORCH_DTYPES = {
    DType.FP32: "float32",
    DType.FP16: "float16",
    DType.BF16: "bfloat16",
}
_TOLERANCES = {DType.FP32: 1e-5, DType.FP16: 1e-3, DType.BF16: 1e-2}
_ROUNDOFF = {DType.FP32: 2.0**-24, DType.FP16: 2.0**-11, DType.BF16: 2.0**-8}
_INTEGERS = {DType.FP16: 2048, DType.BF16: 256}  # up to which all are exact
_EXACT = (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PROD)


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchCheck:
    """How `main()` makes inputs and what it expects, as torch expressions over `x`.

    The tolerance covers one rounding to the dtype and the order of the sum; integers,
    products, maxima and minima are exact.
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
        inputs=_inputs(spec, ", ".join(("NUM_RANKS", *dims))),
        want=_want(spec.dtype, f"{reduction}(dim=0)"),
        rtol=tolerance,
        atol=tolerance,
    )


def _is_native(spec: AllReduceSpec) -> bool:
    """Whether 16-bit floats are rounded after every operation."""
    return accumulator(spec) in _INTEGERS


def _tolerance(spec: AllReduceSpec) -> str:
    """How far a result may be off.

    P normal random values of about 1 add up to about sqrt(P), seldom to four times
    that, and are rounded P times in FP32. Whole numbers, of which 16-bit floats are
    natively added, add up exactly; their mean is rounded.
    """
    exact_sum = _is_native(spec) and spec.op is ReduceOp.SUM
    if not spec.dtype.is_float or spec.op in _EXACT or exact_sum:
        return "0"
    order = 4 * _ROUNDOFF[accumulator(spec)]
    if not _is_native(spec):
        order *= spec.num_ranks**1.5
    return f"{max(_TOLERANCES[spec.dtype], order):.0e}".replace("e-0", "e-")


def _inputs(spec: AllReduceSpec, shape: str) -> str:
    """Inputs of which each one counts: none is lost in rounding, or in a factor of 0.

    Factors are 1 and -1, or odd integers.
    """
    name, is_float = spec.dtype.value, spec.dtype.is_float
    cast = f".to(torch.{_TORCH_DTYPES.get(spec.dtype, name)})"
    if spec.op is ReduceOp.PROD:
        low, high = (-1, 1) if is_float else (0 if name.startswith("u") else -4, 4)
        return f"(2 * torch.randint({low}, {high}, ({shape})) + 1){cast}"
    picks = spec.op in (ReduceOp.MAX, ReduceOp.MIN)
    if _is_native(spec) and not picks:
        most = min(8, _INTEGERS[spec.dtype] // spec.num_ranks)
        return f"torch.randint({-most}, {most + 1}, ({shape})){cast}"
    if is_float:
        return f"torch.randn({shape}){'' if spec.dtype is DType.FP32 else cast}"
    most = 100 if picks else 8
    low = 0 if name.startswith("u") else -most
    return f"torch.randint({low}, {most + 1}, ({shape})){cast}"


def _want(dtype: DType, reduction: str) -> str:
    """Torch's reduction in a type that loses nothing, rounded once."""
    if dtype is DType.FP32:
        return f"x.{reduction}"
    wide = "float" if dtype.is_float else "long"
    return f"x.{wide}().{reduction}.to(x.dtype)"
