"""`auto`: the fastest by the closed forms, and its reason."""

from __future__ import annotations

import pytest

from allreduce_gen.costmodel import choose_algorithm, format_reason, format_seconds
from allreduce_gen.emitter import format_command
from allreduce_gen.errors import SpecError
from allreduce_gen.planner import check_spec
from allreduce_gen.spec import Algorithm, AllReduceSpec

from .models import PURE, make_model


@pytest.mark.parametrize(
    ("ranks", "size", "algorithm"),
    [(2, 1, Algorithm.MESH), (8, 1, Algorithm.MESH), (8, 4096, Algorithm.TWO_PHASE)],
)
def test_few_bytes_want_few_rounds(ranks: int, size: int, algorithm: Algorithm) -> None:
    choice = choose_algorithm(AllReduceSpec(num_ranks=ranks, size=size), PURE)
    assert choice.algorithm is choice.spec.algorithm is algorithm


def test_dear_notifies_want_few_of_them() -> None:
    model = make_model(t_notify_s=1.0)
    choice = choose_algorithm(AllReduceSpec(num_ranks=64, size=64), model)
    assert choice.algorithm is Algorithm.RECURSIVE_DOUBLING


def test_the_default_wins_among_equals() -> None:
    choice = choose_algorithm(AllReduceSpec(num_ranks=8, size=64), make_model())
    assert choice.algorithm is Algorithm.TWO_PHASE


def test_all_algorithms_are_ranked_by_time() -> None:
    choice = choose_algorithm(AllReduceSpec(num_ranks=8, size=64), PURE)
    assert {one for one, _ in choice.ranking} == set(Algorithm)
    times = [time for _, time in choice.ranking]
    assert times == sorted(times)


def test_the_reason_names_times_and_that_nobody_measured_them() -> None:
    choice = choose_algorithm(AllReduceSpec(num_ranks=2, size=4), PURE)
    assert format_reason(choice).startswith(
        "auto: mesh for 2 ranks of 16 bytes; modelled mesh 3.312 s, "
        "recursive_doubling 3.312 s, "
    )
    assert format_reason(choice).endswith(
        "uncalibrated numbers for a2a3sim from a test"
    )
    assert choice.spec.because == (
        "auto, uncalibrated: 3.312 s, next recursive_doubling 3.312 s"
    )


@pytest.mark.parametrize("scale", [1e-9, 1e-6, 1.2345e-3, 1.0])
def test_the_reason_fits_into_the_docstring(scale: float) -> None:
    model = make_model(t_notify_s=scale, beta_s_per_byte=1.2345 * scale)
    for ranks in (2, 13, 64):
        spec = AllReduceSpec(num_ranks=ranks, size=12345)
        assert not list(check_spec(choose_algorithm(spec, model).spec))


def test_the_command_names_the_choice_and_the_reason() -> None:
    spec = choose_algorithm(AllReduceSpec(num_ranks=8, size=4096), PURE).spec
    assert format_command(spec).startswith(
        "allreduce-gen --ranks 8 --size 4096 --algorithm two_phase "
        '--because "auto, uncalibrated: '
    )


@pytest.mark.parametrize("because", ['a "b"', "a\nb", "$HOME", "a" * 73, "ü"])
def test_a_reason_that_would_break_the_docstring_is_refused(because: str) -> None:
    (finding,) = check_spec(AllReduceSpec(num_ranks=2, size=64, because=because))
    assert finding.code.id == "AR107"


def test_a_spec_that_nothing_can_plan_is_refused() -> None:
    with pytest.raises(SpecError, match="AR106"):
        choose_algorithm(AllReduceSpec(num_ranks=65, size=64), PURE)


def test_times_have_units() -> None:
    assert [format_seconds(10.0**power * 1.23456) for power in (-8, -5, -2, 1)] == [
        "12.35 ns",
        "12.35 us",
        "12.35 ms",
        "12.35 s",
    ]
