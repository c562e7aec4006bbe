"""Trace to diagnostics, one property a module.

Checks collect every finding and never raise. `check_trace` runs them all; each alone
takes an `Analysis`, which holds what they share.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from allreduce_gen.diagnostics import Diagnostic
from allreduce_gen.ir.trace import Trace

from .analysis import Analysis
from .bounds import check_bounds
from .certificate import CertifiedRange, certify
from .collectives import Collective
from .deadlock import check_deadlock
from .decided import Decided, Meeting
from .grouping import sort_findings
from .order import check_order
from .outputs import Outputs, read_outputs, recognise_outputs
from .program import Point
from .provenance import check_provenance, recognise
from .races import check_races, find_races, report_races
from .resources import check_resources
from .signals import check_signals

__all__ = [
    "Analysis",
    "CertifiedRange",
    "Collective",
    "Decided",
    "Meeting",
    "Point",
    "certify",
    "check_bounds",
    "check_deadlock",
    "check_order",
    "check_provenance",
    "check_races",
    "check_resources",
    "check_signals",
    "check_trace",
    "check_unknown",
    "recognise",
    "without_collection",
]


def check_trace(
    trace: Trace,
    *,
    collective: Collective | None = Collective.ALL_REDUCE,
    decided: Decided | None = None,
    alike_calls: bool = False,
) -> tuple[Diagnostic, ...]:
    """All findings about `trace`, errors first, in the same order every time.

    Outputs are judged as those of `collective`; None leaves their contents open. What a
    search of all executions has `decided` stands in place of AR309. Where calls are to
    be `alike_calls`, one operator makes the outputs of all of them.
    """
    with without_collection():
        analysis = Analysis(trace, decided, alike_calls)
        return _check(analysis, collective, read_outputs(analysis))


def check_unknown(
    trace: Trace, *, decided: Decided | None = None, alike_calls: bool = False
) -> tuple[Collective | None, tuple[Diagnostic, ...]]:
    """The collective that `trace` computes, as `recognise` says, and its findings."""
    with without_collection():
        analysis = Analysis(trace, decided, alike_calls)
        outputs = read_outputs(analysis)
        collective = recognise_outputs(outputs)
        return collective, _check(analysis, collective, outputs)


def _check(
    analysis: Analysis, collective: Collective | None, outputs: Outputs
) -> tuple[Diagnostic, ...]:
    races = find_races(analysis)
    findings = [
        *check_bounds(analysis),
        *check_resources(analysis.trace),
        *check_deadlock(analysis),
        *report_races(analysis, races),
        *check_signals(analysis, races),
        *check_provenance(analysis, collective, outputs),
    ]
    if collective is Collective.ALL_REDUCE:
        findings += check_order(analysis, outputs)
    return sort_findings(findings)


@contextmanager
def without_collection() -> Iterator[None]:
    """No garbage collection meanwhile.

    Tracing and checking make many small objects, none of them in cycles; looking
    through them again and again takes longer than making them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
