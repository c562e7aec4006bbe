"""Plans broken in one named way each: emission is refused with the stated codes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from allreduce_gen.checks import check_trace
from allreduce_gen.errors import CheckError
from allreduce_gen.ir.calls import join_calls
from allreduce_gen.ir.constants import Constant
from allreduce_gen.ir.expand import expand
from allreduce_gen.ir.expr import ONE, Const, Name
from allreduce_gen.ir.plan import Plan
from allreduce_gen.ir.steps import Step
from allreduce_gen.pipeline import generate
from allreduce_gen.planner import make_plan
from allreduce_gen.spec import AllReduceSpec, Reuse

Mutation = Callable[[Plan], Plan]


def edit(name: str, **changes: Any) -> Mutation:
    """Change fields of the step called `name`; `a__b` is field b of field a."""

    def mutate(plan: Plan) -> Plan:
        return _with_steps(
            plan, [_change(s, changes) if s.name == name else s for s in plan.steps]
        )

    return mutate


def drop(*names: str) -> Mutation:
    """Leave out the steps called `names`."""
    return lambda plan: _with_steps(
        plan, [step for step in plan.steps if step.name not in names]
    )


def reorder(*names: str) -> Mutation:
    """Run the steps in this order."""
    return lambda plan: _with_steps(
        plan, sorted(plan.steps, key=lambda step: names.index(step.name))
    )


def constant(name: str, value: int) -> Mutation:
    """Give a constant another value."""

    def mutate(plan: Plan) -> Plan:
        changed = tuple(
            Constant(name=name, value=value) if one.name == name else one
            for one in plan.constants
        )
        return dataclasses.replace(plan, constants=changed)

    return mutate


def _with_steps(plan: Plan, steps: list[Step]) -> Plan:
    return dataclasses.replace(plan, steps=tuple(steps))


def _change(value: Any, changes: dict[str, Any]) -> Any:
    for path, new in changes.items():
        head, _, rest = path.partition("__")
        inner = _change(getattr(value, head), {rest: new}) if rest else new
        value = dataclasses.replace(value, **{head: inner})
    return value


_CHUNK = Name("CHUNK")

MUTATIONS: dict[str, tuple[Mutation, set[str]]] = {
    "no barrier after staging": (
        drop("notify_staged", "wait_staged"),
        {"AR401"},
    ),
    "no barrier after reducing": (
        drop("notify_reduced", "wait_reduced"),
        {"AR401"},
    ),
    "no notify": (drop("notify_reduced"), {"AR301"}),
    "no wait": (drop("wait_staged"), {"AR302", "AR401"}),
    "one row for both barriers": (
        lambda plan: edit("wait_reduced", row=Name("ROW_STAGED"))(
            edit("notify_reduced", row=Name("ROW_STAGED"))(plan)
        ),
        {"AR303", "AR401"},
    ),
    "wait for two": (edit("wait_staged", expected=Const(2)), {"AR301"}),
    "wait before notify": (
        reorder(
            "stage_in",
            "wait_staged",
            "notify_staged",
            "reduce_scatter",
            "notify_reduced",
            "wait_reduced",
            "all_gather",
        ),
        {"AR304"},
    ),
    "notify before the store": (
        reorder(
            "notify_staged",
            "stage_in",
            "wait_staged",
            "reduce_scatter",
            "notify_reduced",
            "wait_reduced",
            "all_gather",
        ),
        {"AR401"},
    ),
    "no all-gather": (drop("all_gather"), {"AR405"}),
    "own contribution twice": (
        edit("reduce_scatter", peers__start=Const(0)),
        {"AR406"},
    ),
    "chunks assembled in the wrong place": (
        edit(
            "all_gather",
            target__at=(Name("owner") + ONE) % Name("NUM_RANKS") * _CHUNK,
        ),
        {"AR408"},
    ),
    "gathered past the end": (
        edit("all_gather", target__at=(Name("owner") + ONE) * _CHUNK),
        {"AR404", "AR405", "AR408"},
    ),
    "a row that does not exist": (
        lambda plan: edit("wait_reduced", row=Const(2))(
            edit("notify_reduced", row=Const(2))(plan)
        ),
        {"AR404"},
    ),
    "nothing staged": (drop("stage_in"), {"AR407"}),
    "a chunk of whole blocks cut short": (
        constant("CHUNK", 1000),
        {"AR405"},
    ),
}


@pytest.mark.parametrize("num_ranks", [2, 4, 8])
@pytest.mark.parametrize("name", MUTATIONS)
def test_mutant_is_refused(name: str, num_ranks: int) -> None:
    spec = AllReduceSpec(num_ranks=num_ranks, size=num_ranks * 1024)
    mutate, wanted = MUTATIONS[name]
    found = {one.code.id for one in check_trace(expand(mutate(make_plan(spec))))}
    assert wanted <= found, found


def test_emission_is_refused_on_any_error(monkeypatch: pytest.MonkeyPatch) -> None:
    mutate, _ = MUTATIONS["no all-gather"]
    monkeypatch.setattr(
        "allreduce_gen.pipeline.make_plan", lambda spec: mutate(make_plan(spec))
    )
    with pytest.raises(CheckError, match="AR405"):
        generate(AllReduceSpec(num_ranks=4, size=64))


def test_a_tile_larger_than_the_buffer() -> None:
    spec = AllReduceSpec(num_ranks=2, size=65536, tile=32768)
    found = {one.code.id for one in check_trace(expand(make_plan(spec)))}
    assert found == {"AR501"}


@pytest.mark.parametrize("num_ranks", [2, 3, 4, 5, 8, 16, 17])
def test_the_plan_itself_has_no_finding(num_ranks: int) -> None:
    spec = AllReduceSpec(num_ranks=num_ranks, size=1000)
    assert check_trace(expand(make_plan(spec))) == ()


def _three_calls(plan: Plan) -> set[str]:
    calls = [expand(plan, call=call) for call in (1, 2, 3)]
    return {one.code.id for one in check_trace(join_calls(calls))}


@pytest.mark.parametrize("num_ranks", [2, 3, 4, 8])
@pytest.mark.parametrize("reuse", [Reuse.EPOCH, Reuse.SELF_CLEARING])
def test_the_exit_barrier_is_there_exactly_where_calls_race_without(
    reuse: Reuse, num_ranks: int
) -> None:
    for in_place in (False, True):
        spec = AllReduceSpec(
            num_ranks=num_ranks, size=1024, reuse=reuse, in_place=in_place
        )
        plan = make_plan(spec)
        names = [step.name for step in plan.steps]
        assert ("wait_gathered" in names) == in_place
        assert _three_calls(plan) == set()
        if in_place:
            without = drop("notify_gathered", "wait_gathered")(plan)
            assert _three_calls(without) & {"AR402", "AR403", "AR401"}


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_a_kernel_for_one_call_is_unsound_for_three(num_ranks: int) -> None:
    plan = make_plan(AllReduceSpec(num_ranks=num_ranks, size=1024))
    assert {"AR303", "AR401"} <= _three_calls(plan)


@pytest.mark.parametrize("num_ranks", [2, 4])
def test_slots_that_are_not_given_back_are_found(num_ranks: int) -> None:
    spec = AllReduceSpec(num_ranks=num_ranks, size=1024, reuse=Reuse.SELF_CLEARING)
    assert {"AR303", "AR401"} <= _three_calls(drop("clear_slots")(make_plan(spec)))
