"""What is asked, in the model's quantities, and what an answer is counted in."""

from __future__ import annotations

from dataclasses import dataclass

from allreduce_gen.spec import AllReduceSpec, Transfer
from allreduce_gen.targets import accumulator

from .model import CostModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An all-reduce as the closed forms see it: `spec` with vectors of any length.

    `moved_bytes` are those of a rank's vector, which need not be whole elements.
    """

    spec: AllReduceSpec
    moved_bytes: float

    @property
    def num_ranks(self) -> int:
        return self.spec.num_ranks

    @property
    def partial_bytes(self) -> float:
        """The same vector in the type that it is combined in."""
        return self.moved_bytes * accumulator(self.spec).nbytes / self.spec.dtype.nbytes

    @property
    def pushes(self) -> bool:
        """Whether the writer moves data."""
        return self.spec.transfer is Transfer.PUSH


def pose(spec: AllReduceSpec) -> Problem:
    """The problem that `spec` is."""
    return Problem(spec=spec, moved_bytes=spec.size_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What lies on the critical path, one count for each coefficient of the model."""

    rounds: float = 0
    notifies: float = 0
    remote_bytes: float = 0
    reduced_bytes: float = 0
    copied_bytes: float = 0

    def __add__(self, other: Terms) -> Terms:
        return Terms(
            rounds=self.rounds + other.rounds,
            notifies=self.notifies + other.notifies,
            remote_bytes=self.remote_bytes + other.remote_bytes,
            reduced_bytes=self.reduced_bytes + other.reduced_bytes,
            copied_bytes=self.copied_bytes + other.copied_bytes,
        )

    def seconds(self, model: CostModel) -> float:
        """The time that `model` gives these terms."""
        return (
            self.rounds * model.alpha_s
            + self.notifies * model.t_notify_s
            + self.remote_bytes * model.beta_s_per_byte
            + self.reduced_bytes * model.gamma_s_per_byte
            + self.copied_bytes * model.copy_s_per_byte
        )
