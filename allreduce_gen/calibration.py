"""Timed runs of real kernels on an engine, for a cost model to be fitted to.

The time of a call is the difference between a run of several calls and a run of one: it
leaves out what starting costs, be it processes or a compiler.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from .costmodel import (
    FORMULAS,
    Fit,
    Sample,
    Terms,
    closed_form,
    fit_model,
    is_plannable,
    load_model,
    pose,
    replay,
)
from .engines.base import Array, EngineName
from .engines.mpi import run_mpi
from .engines.reference import make_inputs
from .engines.simulator import simulate
from .errors import SpecError
from .ir.calls import repeat_calls
from .ir.expand import expand
from .ir.recognise import call_buffers
from .kernel import Kernel
from .pipeline import generate, refuse
from .planner import check_spec
from .spec import AllReduceSpec

Calls: TypeAlias = Callable[[int], None]
"""Does so many calls of one kernel in a row."""

MORE_CALLS = 4
"""Calls in the longer run beyond those in the shorter one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A fit, and the kernels whose time was lost in the noise of starting them."""

    fit: Fit
    lost: tuple[str, ...]


def calibrate(
    engine: EngineName,
    platform: str,
    *,
    ranks: Iterable[int],
    sizes: Iterable[int],
    repeats: int,
    clock: Callable[[], float] | None = None,
    tell: Callable[[Sample], None] | None = None,
) -> Calibration:
    """Time every algorithm for `ranks` and `sizes`, and fit `platform`'s cost model.

    Each run is made `repeats` times; the shortest counts. `clock` gives seconds: for
    the simulator, unless given, those that this process has computed. `tell` gets each
    kernel as soon as it is timed.

    Raises SpecError for ranks and sizes that no algorithm has, EngineError as the
    engine does, ValueError for too few runs.
    """
    own = engine is EngineName.SIMULATOR
    clock = clock or (time.process_time if own else time.perf_counter)
    samples = []
    for spec in _specs(platform, ranks, tuple(sizes)):
        samples.append(_time_kernel(generate(spec), engine, repeats, clock))
        if tell is not None:
            tell(samples[-1])
    timed = [one for one in samples if one.seconds > 0]
    return Calibration(
        fit=fit_model(timed, platform, f"timed runs on {engine.value}"),
        lost=tuple(one.name for one in samples if one.seconds <= 0),
    )


def _specs(
    platform: str, ranks: Iterable[int], sizes: tuple[int, ...]
) -> list[AllReduceSpec]:
    """What is timed: whatever can be planned. Raises SpecError where nothing can."""
    asked = [
        AllReduceSpec(num_ranks=num_ranks, size=size, platform=platform)
        for num_ranks in ranks
        for size in sizes
    ]
    for one in asked:
        refuse(SpecError, check_spec(one))
    variants = (replace(one, algorithm=each) for one in asked for each in FORMULAS)
    return [one for one in variants if is_plannable(one)]


def _time_kernel(
    kernel: Kernel, engine: EngineName, repeats: int, clock: Callable[[], float]
) -> Sample:
    calls = _prepare(kernel, engine)
    few, many = (
        min(_time(calls, count, clock) for _ in range(repeats))
        for count in (1, 1 + MORE_CALLS)
    )
    return Sample(
        name=kernel.spec.name,
        terms=_terms(kernel, engine),
        seconds=(many - few) / MORE_CALLS,
    )


def _terms(kernel: Kernel, engine: EngineName) -> Terms:
    """What the time is made of: the critical path where ranks run side by side.

    The simulator runs them all in this process, one after another.
    """
    if engine is EngineName.SIMULATOR:
        return replay(expand(kernel.plan), load_model(kernel.spec.platform)).total
    return closed_form(pose(kernel.spec))


def _time(calls: Calls, count: int, clock: Callable[[], float]) -> float:
    start = clock()
    calls(count)
    return clock() - start


def _prepare(kernel: Kernel, engine: EngineName) -> Calls:
    """What calls `kernel`, with everything done that is done once."""
    if engine is EngineName.PYPTO:
        return _prepare_compiled(kernel)
    trace = expand(kernel.plan)
    runs = {
        count: repeat_calls(trace, count, fresh_windows=True)
        for count in (1, 1 + MORE_CALLS)
    }
    inputs = _inputs(kernel)
    run = run_mpi if engine is EngineName.MPI else simulate

    def calls(count: int) -> None:
        given = {one.source: inputs for one in call_buffers(runs[count]) or ()}
        run(runs[count], given)

    return calls


def _prepare_compiled(kernel: Kernel) -> Calls:
    import torch

    compiled = kernel.compile()
    shape = (kernel.spec.num_ranks, 1, kernel.spec.size)
    x = torch.from_numpy(_inputs(kernel).reshape(shape))
    y = torch.empty_like(x)

    def calls(count: int) -> None:
        for _ in range(count):
            compiled(x, y)

    return calls


def _inputs(kernel: Kernel) -> Array:
    spec = kernel.spec
    return make_inputs(num_ranks=spec.num_ranks, size=spec.size, dtype=spec.dtype)
