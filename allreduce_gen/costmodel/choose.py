"""`auto`: the algorithm that the closed forms say is fastest."""

from __future__ import annotations

from dataclasses import dataclass, replace

from allreduce_gen.errors import SpecError
from allreduce_gen.planner import check_spec
from allreduce_gen.spec import Algorithm, AllReduceSpec

from .formulas import FORMULAS, closed_form
from .model import CostModel, format_seconds
from .terms import pose


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """`spec` has the fastest algorithm; `ranking` is all of them with their seconds."""

    spec: AllReduceSpec
    ranking: tuple[tuple[Algorithm, float], ...]
    model: CostModel

    @property
    def algorithm(self) -> Algorithm:
        return self.ranking[0][0]


def choose_algorithm(spec: AllReduceSpec, model: CostModel) -> Choice:
    """The fastest algorithm for `spec`, whose own is left out of account.

    The chosen spec says why in `because`. Raises SpecError where none can be planned.
    """
    times = {
        algorithm: closed_form(pose(replace(spec, algorithm=algorithm))).seconds(model)
        for algorithm in FORMULAS
        if is_plannable(replace(spec, algorithm=algorithm))
    }
    if not times:
        raise SpecError(check_spec(spec))
    ranking = tuple(sorted(times.items(), key=lambda one: one[1]))
    because = f"auto, {model.state}: {_compare_two(ranking)}"
    chosen = replace(spec, algorithm=ranking[0][0], because=because)
    return Choice(spec=chosen, ranking=ranking, model=model)


def is_plannable(spec: AllReduceSpec) -> bool:
    """Whether nothing refuses `spec`."""
    return not any(finding.is_error for finding in check_spec(spec))


def format_reason(choice: Choice) -> str:
    """Why, in one line for people: the times and where they come from."""
    spec, model = choice.spec, choice.model
    times = ", ".join(
        f"{one.value} {format_seconds(time)}" for one, time in choice.ranking
    )
    return (
        f"auto: {choice.algorithm.value} for {spec.num_ranks} ranks of "
        f"{spec.size_bytes} bytes; modelled {times}; "
        f"{model.state} numbers for {model.platform} from {model.source}"
    )


def _compare_two(ranking: tuple[tuple[Algorithm, float], ...]) -> str:
    """The winner's time, and the next one's, short enough for a kernel's docstring."""
    (_, best), *others = ranking
    second = (f", next {one.value} {format_seconds(time)}" for one, time in others[:1])
    return "".join((format_seconds(best), *second))
