"""How contributions become one value: the operator's part of a plan."""

from __future__ import annotations

from allreduce_gen.ir.constants import Factor
from allreduce_gen.ir.expr import Expr
from allreduce_gen.ir.steps import Peers, Phase, Place, Reduce, Span
from allreduce_gen.spec import AllReduceSpec, ReduceOp
from allreduce_gen.targets import accumulator


def scale_of(spec: AllReduceSpec) -> Factor | None:
    """What the sum is multiplied by, once, for the mean of several ranks."""
    if spec.op is not ReduceOp.AVG or spec.num_ranks == 1:
        return None
    return Factor(name="SCALE", value=1 / spec.num_ranks, meaning="1 / NUM_RANKS")


def factors(spec: AllReduceSpec) -> tuple[Factor, ...]:
    """The factors that the kernel names."""
    scale = scale_of(spec)
    return () if scale is None else (scale,)


def combine_partials(
    spec: AllReduceSpec,
    name: str,
    phase: Phase,
    *,
    own: Place,
    contribution: Place,
    target: Place,
    span: Span,
    peers: Peers,
    guard: Expr | None = None,
) -> Reduce:
    """Combine what windows hold in the accumulator's type, and keep it in that."""
    return Reduce(
        name=name,
        phase=phase,
        guard=guard,
        own=own,
        contribution=contribution,
        target=target,
        span=span,
        peers=peers,
        op=spec.op,
        dtype=accumulator(spec),
        accumulator=accumulator(spec),
    )
