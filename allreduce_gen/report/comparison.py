"""Every algorithm for one spec: made, proved, counted and timed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from allreduce_gen.costmodel import (
    FORMULAS,
    CostModel,
    LowerBounds,
    closed_form,
    lower_bounds,
    pose,
    replay,
)
from allreduce_gen.errors import AllReduceGenError
from allreduce_gen.ir.cost import Cost
from allreduce_gen.ir.expand import expand
from allreduce_gen.kernel import Kernel
from allreduce_gen.pipeline import generate
from allreduce_gen.spec import Algorithm, AllReduceSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What a proved kernel costs.

    `rounds` of moving data are on the critical path, more than any one rank waits for
    where ranks are folded. `model_s` is the closed form's time; `replay_s` that of the
    trace, with one port a reader, and `replay_both_s` with the source's port charged
    too.
    """

    cost: Cost
    rounds: int
    num_rows: int
    model_s: float
    replay_s: float
    replay_both_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedAlgorithm:
    """One algorithm: the checks' verdict, and what it costs unless they refused it."""

    algorithm: Algorithm
    verdict: str
    counted: Counted | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All algorithms for one all-reduce, in the order of the closed forms."""

    spec: AllReduceSpec
    model: CostModel
    rows: tuple[ComparedAlgorithm, ...]

    @property
    def bounds(self) -> LowerBounds:
        return lower_bounds(pose(self.spec))

    @property
    def fastest(self) -> Algorithm | None:
        """The algorithm with the least modelled time, as `auto` takes it."""
        times = [
            (one.counted.model_s, number, one.algorithm)
            for number, one in enumerate(self.rows)
            if one.counted is not None
        ]
        return min(times, key=lambda one: one[:2])[2] if times else None


def compare_algorithms(spec: AllReduceSpec, model: CostModel) -> Comparison:
    """`spec` with every algorithm; the verdict on one that is refused are its codes."""
    return Comparison(
        spec=spec,
        model=model,
        rows=tuple(
            _judge(replace(spec, algorithm=algorithm), model) for algorithm in FORMULAS
        ),
    )


def _judge(spec: AllReduceSpec, model: CostModel) -> ComparedAlgorithm:
    try:
        kernel = generate(spec)
    except AllReduceGenError as error:
        codes = sorted({one.code.id for one in error.diagnostics if one.is_error})
        return ComparedAlgorithm(
            algorithm=spec.algorithm,
            verdict=f"refused: {' '.join(codes)}",
            counted=None,
        )
    return ComparedAlgorithm(
        algorithm=spec.algorithm,
        verdict=format_verdict(kernel),
        counted=count(kernel, model),
    )


def format_verdict(kernel: Kernel) -> str:
    """What the checks said of a kernel that they let pass: `clean`, or its warnings."""
    codes = sorted({one.code.id for one in kernel.warnings})
    return f"warned: {' '.join(codes)}" if codes else "clean"


def count(kernel: Kernel, model: CostModel) -> Counted:
    """The counts and times of `kernel`."""
    trace = expand(kernel.plan)
    replayed = replay(trace, model)
    return Counted(
        cost=kernel.cost,
        rounds=round(replayed.terms.rounds),
        num_rows=kernel.plan.num_rows,
        model_s=closed_form(pose(kernel.spec)).seconds(model),
        replay_s=replayed.seconds,
        replay_both_s=replay(trace, model, charges_source=True).seconds,
    )
