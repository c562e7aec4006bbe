"""The main flow: from a spec to a proved kernel.

    spec -> plan -> trace -> checks -> source -> its own trace -> the same? -> kernel

Nothing leaves `generate` unless every arrow held.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .checks import check_trace
from .diagnostics import Diagnostic, Location, codes, diagnose
from .emitter import emit
from .errors import (
    AllReduceGenError,
    CheckError,
    CompileError,
    EmitError,
    SpecError,
)
from .frontend import load_source, trace_program
from .ir.calls import join_calls
from .ir.compare import Difference, compare
from .ir.cost import measure_cost
from .ir.expand import expand
from .ir.plan import Plan
from .ir.trace import Trace
from .kernel import Kernel
from .planner import check_spec, make_plan
from .spec import AllReduceSpec, Reuse

PROVED_CALLS = 3
"""Calls in a row that are proved where windows persist."""


def generate(spec: AllReduceSpec, *, templates: Path | str | None = None) -> Kernel:
    """A kernel for `spec`: planned, checked, emitted, and traced back from its text.

    Raises SpecError, CheckError or EmitError with every finding; nothing is written.
    """
    refuse(SpecError, check_spec(spec))
    plan = make_plan(spec)
    calls = expand_calls(plan)
    trace = join_calls(calls)
    findings = check_trace(trace)
    refuse(CheckError, findings)
    cost = measure_cost(plan, calls[0])
    source = emit(plan, cost, templates=None if templates is None else Path(templates))
    verify_source(source, spec, calls[0])
    return Kernel(
        spec=spec, source=source, plan=plan, trace=trace, cost=cost, warnings=findings
    )


def expand_calls(plan: Plan) -> tuple[Trace, ...]:
    """One call, or as many as are proved where the plan's windows persist."""
    calls = 1 if plan.spec.reuse is Reuse.ONCE else PROVED_CALLS
    return tuple(expand(plan, call=call) for call in range(1, calls + 1))


def verify_source(source: str, spec: AllReduceSpec, trace: Trace) -> None:
    """Refuse source text that does anything but what its plan says (AR603)."""
    try:
        program, *_ = load_source(source.encode(), f"{spec.name}.py", Path.cwd())
        scalars = dict.fromkeys(program.scalars, 1)
        traced = trace_program(program, platform=spec.platform, scalars=scalars)
    except CompileError as error:
        raise EmitError(map(_refused, error.diagnostics)) from error
    difference = compare(trace, traced.trace)
    if difference is not None:
        raise EmitError([_differs(difference)])
    refuse(EmitError, traced.diagnostics)


def refuse(error: type[AllReduceGenError], findings: Iterable[Diagnostic]) -> None:
    """Raise `error` with all findings where one of them is an error."""
    collected = tuple(findings)
    if any(finding.is_error for finding in collected):
        raise error(collected)


def _refused(finding: Diagnostic) -> Diagnostic:
    return diagnose(
        codes.AR602,
        f"the emitted source is refused: {finding.message} ({finding.code.id})",
        location=finding.location,
        help="mend the template; the source was not written",
    )


def _differs(difference: Difference) -> Diagnostic:
    return diagnose(
        codes.AR603,
        f"the plan says {difference.left}, the emitted source {difference.right}",
        location=Location(
            rank=None if difference.agent is None else difference.agent.rank,
            event=difference.index,
        ),
        help="mend the template or ir/expand.py; the source was not written",
    )
