"""Fitting: what was put in comes out, and what cannot be seen is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from allreduce_gen.costmodel import (
    COEFFICIENTS,
    FORMULAS,
    CostModel,
    Problem,
    Sample,
    Terms,
    closed_form,
    fit_model,
)
from allreduce_gen.spec import AllReduceSpec

from .models import FULL, make_model


def samples_of(model: CostModel, *, noise: float = 0.0) -> list[Sample]:
    """Every algorithm at a few sizes, as `model` would time it, off by `noise`."""
    found = []
    for ranks in (2, 4, 8):
        for size in (64.0, 4096.0, 65536.0):
            for algorithm in FORMULAS:
                spec = AllReduceSpec(num_ranks=ranks, size=1, algorithm=algorithm)
                terms = closed_form(Problem(spec=spec, moved_bytes=size))
                sign = (-1) ** len(found)
                seconds = terms.seconds(model) * (1 + sign * noise)
                found.append(Sample(name="x", terms=terms, seconds=seconds))
    return found


def test_exact_times_give_the_model_back() -> None:
    fit = fit_model(samples_of(FULL), "a2a3sim", "a test")
    for key in COEFFICIENTS:
        assert getattr(fit.model, key) == pytest.approx(getattr(FULL, key), rel=1e-6)
    assert fit.model.is_calibrated
    assert fit.r_squared == pytest.approx(1.0)
    assert fit.worst_error < 1e-6
    assert fit.unseen == ()


def test_noise_shows_in_the_errors() -> None:
    fit = fit_model(samples_of(FULL, noise=0.1), "a2a3sim", "a test")
    assert 0.05 < fit.median_error < 0.15
    assert fit.r_squared < 0.9999
    assert fit.model.beta_s_per_byte == pytest.approx(FULL.beta_s_per_byte, rel=0.5)


def test_numbers_that_are_zero_are_named() -> None:
    model = make_model(alpha_s=3.0, beta_s_per_byte=0.5)
    fit = fit_model(samples_of(model), "a2a3sim", "a test")
    assert fit.unseen == ("t_notify_s", "gamma_s_per_byte", "copy_s_per_byte")
    assert fit.model.alpha_s == pytest.approx(3.0)


def test_no_number_comes_out_below_zero() -> None:
    samples = [
        replace(one, seconds=one.seconds - 0.5 * one.terms.notifies)
        for one in samples_of(FULL)
    ]
    fit = fit_model(samples, "a2a3sim", "a test")
    assert all(getattr(fit.model, key) >= 0 for key in COEFFICIENTS)
    assert fit.model.t_notify_s == 0


def test_runs_that_look_alike_leave_numbers_out() -> None:
    alike = [
        Sample(name="x", terms=Terms(rounds=size, remote_bytes=2 * size), seconds=size)
        for size in (1.0, 2.0, 3.0, 4.0, 5.0)
    ]
    fit = fit_model(alike, "a2a3sim", "a test")
    assert fit.worst_error < 1e-9
    assert len(fit.unseen) == 4


def test_too_few_runs_are_refused() -> None:
    with pytest.raises(ValueError, match="4 runs for 5 numbers"):
        fit_model(samples_of(FULL)[:4], "a2a3sim", "a test")
