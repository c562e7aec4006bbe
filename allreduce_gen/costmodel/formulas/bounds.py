"""What no all-reduce through one port a rank can beat."""

from __future__ import annotations

from dataclasses import dataclass

from allreduce_gen.costmodel.model import CostModel
from allreduce_gen.costmodel.terms import Problem, Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class LowerBounds:
    """Three bounds, each on its own: in general no algorithm attains all at once."""

    rounds: int
    remote_bytes: float
    reduced_bytes: float

    def seconds(self, model: CostModel) -> dict[str, float]:
        """Each bound as a time: latency, bandwidth, compute."""
        return {
            "latency": Terms(rounds=self.rounds).seconds(model),
            "bandwidth": Terms(remote_bytes=self.remote_bytes).seconds(model),
            "compute": Terms(reduced_bytes=self.reduced_bytes).seconds(model),
        }


def lower_bounds(problem: Problem) -> LowerBounds:
    """ceil(log2 P) alpha; 2(P-1)/P n beta; (P-1)/P n gamma.

    Chan, Heimlich, Purkayastha and van de Geijn 2007; the second also Patarasuk and
    Yuan 2009. The first holds for a rank that talks to one peer a round: mesh and
    two_phase, whose rounds reach every peer, go below it.
    """
    share = (problem.num_ranks - 1) / problem.num_ranks
    return LowerBounds(
        rounds=(problem.num_ranks - 1).bit_length(),
        remote_bytes=2 * share * problem.moved_bytes,
        reduced_bytes=share * problem.partial_bytes,
    )
