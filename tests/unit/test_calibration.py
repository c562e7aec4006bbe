"""Calibration on the simulator, with a clock of the tests' own."""

from __future__ import annotations

import itertools

import pytest

from allreduce_gen.calibration import MORE_CALLS, calibrate
from allreduce_gen.costmodel import FORMULAS
from allreduce_gen.engines.base import EngineName


def run(clock):  # type: ignore[no-untyped-def]
    return calibrate(
        EngineName.SIMULATOR, "a5", ranks=(2,), sizes=(64, 4096), repeats=1, clock=clock
    )


def test_every_kernel_is_timed_by_what_more_calls_take() -> None:
    # Each run reads the clock twice: 1 s for one call, 9 s for MORE_CALLS more of 2 s.
    assert MORE_CALLS == 4
    readings = itertools.accumulate(itertools.cycle((0.0, 1.0, 0.0, 9.0)))
    done = run(lambda: next(readings))
    assert {one.seconds for one in done.fit.samples} == {2.0}
    assert len(done.fit.samples) == 2 * len(FORMULAS)
    assert done.lost == ()
    assert done.fit.model.platform == "a5"
    assert done.fit.model.is_calibrated
    assert done.fit.model.source == "timed runs on simulator"


def test_kernels_lost_in_the_noise_are_named_and_too_few_are_refused() -> None:
    with pytest.raises(ValueError, match="0 runs for 5 numbers"):
        run(lambda: 1.0)
