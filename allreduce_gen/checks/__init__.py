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
from .grouping import sort_findings
from .order import check_order
from .outputs import read_outputs
from .provenance import check_provenance, recognise
from .races import check_races, find_races, report_races
from .resources import check_resources
from .signals import check_signals

__all__ = [
    "Analysis",
    "CertifiedRange",
    "Collective",
    "certify",
    "check_bounds",
    "check_deadlock",
    "check_order",
    "check_provenance",
    "check_races",
    "check_resources",
    "check_signals",
    "check_trace",
    "recognise",
]


def check_trace(
    trace: Trace, *, collective: Collective | None = Collective.ALL_REDUCE
) -> tuple[Diagnostic, ...]:
    """All findings about `trace`, errors first, in the same order every time.

    Outputs are judged as those of `collective`; None leaves their contents open.
    """
    with _no_collection():
        return _check(trace, collective)


def _check(trace: Trace, collective: Collective | None) -> tuple[Diagnostic, ...]:
    analysis = Analysis(trace)
    races, outputs = find_races(analysis), read_outputs(analysis)
    findings = [
        *check_bounds(analysis),
        *check_resources(trace),
        *check_deadlock(analysis),
        *report_races(analysis, races),
        *check_signals(analysis, races),
        *check_provenance(analysis, collective, outputs),
    ]
    if collective is Collective.ALL_REDUCE:
        findings += check_order(analysis, outputs)
    return sort_findings(findings)


@contextmanager
def _no_collection() -> Iterator[None]:
    """No garbage collection meanwhile.

    Checks make many small objects, none of them in cycles; looking through them again
    and again takes longer than the checks do.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
