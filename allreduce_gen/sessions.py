"""The programs of a script, checked and run where the script calls them.

A program is checked when it is compiled, and once more for a call that passes other
scalars or shapes, or that finds windows as an earlier call left them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .arguments import complete_arguments, lend_arguments, split_arguments
from .diagnostics import Diagnostic, codes
from .engines.base import DEFAULT_OPTIONS, Bytes, RunOptions
from .engines.simulator import Windows, make_windows, simulate_in_place
from .errors import CheckError
from .frontend import (
    Program,
    Target,
    TraceResult,
    is_bound,
    read_program,
    trace_program,
)
from .ir.calls import join_calls
from .ir.trace import Trace
from .pipeline import refuse
from .verdicts import CheckedProgram, judge_trace

PROVED_CALLS = 3
"""Calls in a row on the same windows that are checked together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptOptions:
    """How the programs of a script are checked and run.

    `num_ranks` counts in place of the script's device list. Where it does not
    `refuse_errors`, a program with errors is run all the same.
    """

    num_ranks: int | None = None
    run: RunOptions = DEFAULT_OPTIONS
    refuse_errors: bool = True
    on_verdict: Callable[[CheckedProgram], None] = lambda _: None


DEFAULT_SCRIPT = ScriptOptions()


class ScriptSession:
    """Compiles and runs the programs of one script."""

    def __init__(self, options: ScriptOptions) -> None:
        self._options = options
        self.num_programs = 0

    def compile(self, program: Program, target: Target) -> CompiledScript:
        """Trace and check `program` for `target`. Raises what `run_script` says."""
        self.num_programs += 1
        compiled = CompiledScript(program, target, self._options)
        compiled.check_alone()
        return compiled


class CompiledScript:
    """One program of a script, traced and checked once for each kind of call."""

    def __init__(
        self, program: Program, target: Target, options: ScriptOptions
    ) -> None:
        self.program = program
        self._ranks = options.num_ranks or target.num_ranks
        self._target = target
        self._options = options
        self._traced: dict[CallKey, TraceResult] = {}
        self._checked: set[tuple[int, ...]] = set()

    @property
    def parts(self) -> tuple[str, ...]:
        """What the host dispatches in the calls that have been traced."""
        traced = self._traced.values()
        return tuple(dict.fromkeys(name for one in traced for name in one.parts))

    def check_alone(self) -> None:
        """Check one call, where the program says enough without its arguments."""
        shapes = dict(self._target.shapes)
        if is_bound(self.program, self._ranks, shapes):
            scalars = dict.fromkeys(self.program.scalars, 1)
            self.check((self.key(scalars, shapes),))
        else:
            read_program(self.program)

    def prepare(self, *, keeps_windows: bool, resets_windows: bool) -> PreparedScript:
        """What runs it, on windows that are kept or made anew."""
        return PreparedScript(self, keeps_windows and not resets_windows, keeps_windows)

    def key(
        self, scalars: Mapping[str, int | float], shapes: Mapping[str, tuple[int, ...]]
    ) -> CallKey:
        """The kind of a call that passes these; what is compiled in overrules it."""
        fixed = self._target.fixed
        values = ((name, fixed.get(name, value)) for name, value in scalars.items())
        return CallKey(tuple(values), tuple(shapes.items()))

    def trace(self, call: CallKey) -> Trace:
        """What all ranks do in such a call."""
        if call not in self._traced:
            traced = trace_program(
                self.program,
                num_ranks=self._ranks,
                platform=self._target.platform,
                scalars=dict(call.scalars),
                shapes=dict(call.shapes),
            )
            known = (one for one in self._traced.values() if one.trace == traced.trace)
            self._traced[call] = next(known, traced)
        return self._traced[call].trace

    def check(self, calls: tuple[CallKey, ...]) -> None:
        """Check calls in a row on the same windows. Raises CheckError where refused."""
        traces = [self.trace(one) for one in calls]
        key = tuple(map(id, traces))  # equal ones are one
        if key in self._checked:
            return
        self._checked.add(key)
        trace = join_calls(traces)
        found = [one for call in calls for one in self._traced[call].diagnostics]
        file = Path(self.program.source)
        verdict = judge_trace(self.program, file, trace, tuple(dict.fromkeys(found)))
        self._options.on_verdict(verdict)
        if self._options.refuse_errors:
            refuse(CheckError, filter(_is_ours, verdict.findings))

    def run(self, trace: Trace, host: dict[str, Bytes], windows: Windows) -> None:
        """Simulate `trace` on the caller's memory."""
        simulate_in_place(trace, host, windows, self._options.run)


_THEIRS = (codes.AR405, codes.AR406, codes.AR408, codes.AR410)
"""What outputs hold is judged by a guess at what they should: a script knows better."""


def _is_ours(finding: Diagnostic) -> bool:
    return finding.code not in _THEIRS


@dataclass(frozen=True, slots=True)
class CallKey:
    """What a call's trace depends on: its scalars, and the shapes of its tensors."""

    scalars: tuple[tuple[str, int | float], ...]
    shapes: tuple[tuple[str, tuple[int, ...]], ...]


class PreparedScript:
    """Runs one program on callers' tensors, call after call."""

    def __init__(
        self, compiled: CompiledScript, keeps_values: bool, keeps_windows: bool
    ) -> None:
        self._compiled = compiled
        self._keeps_values = keeps_values
        self._keeps_windows = keeps_windows
        self._windows: Windows | None = None
        self._calls: list[CallKey] = []
        self.num_allocations = 0

    def __call__(self, arguments: tuple[Any, ...]) -> Any:
        """One call. Raises CheckError, and EngineError as the simulator does."""
        given, made = complete_arguments(self._compiled.program, arguments)
        scalars, shapes = split_arguments(self._compiled.program, given)
        call = self._compiled.key(scalars, shapes)
        if not self._keeps_values:
            self._calls.clear()
        if len(self._calls) < PROVED_CALLS:
            self._calls.append(call)
            self._compiled.check(tuple(self._calls))
        trace = self._compiled.trace(call)
        lent = lend_arguments(self._compiled.program, given)
        host = {name: one.data for name, one in lent.items()}
        self._compiled.run(trace, host, self._take_windows(trace))
        for one in lent.values():
            one.give_back()
        return made

    def _take_windows(self, trace: Trace) -> Windows:
        """The windows of this call: all zero, unless they keep their values."""
        if self._windows is None or not self._keeps_windows:
            self._windows = make_windows(trace)
            self.num_allocations += 1
        elif not self._keeps_values:
            for window in self._windows.values():
                window.fill(0)
        return self._windows
