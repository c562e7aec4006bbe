"""What the package raises.

    AllReduceGenError
    ├── SpecError                  a value means nothing or cannot be planned (AR1xx)
    ├── PlanError                  a plan is not well formed (AR2xx)
    ├── CheckError                 a plan, trace or program is unsound (AR3xx to AR5xx)
    ├── EmitError                  no source could be written (AR6xx)
    ├── EngineError                an engine could not do its work
    │   ├── EngineUnavailableError it is not installed or not complete (AR701)
    │   ├── CompileError           the program was refused (AR702 to AR707)
    │   └── ExecutionError         the run failed or gave wrong results (AR8xx)
    └── InternalError              our own fault (AR9xx)

Each carries its diagnostics, and its text is theirs.
"""

from __future__ import annotations

from collections.abc import Iterable

from .diagnostics import Diagnostic, format_diagnostics


class AllReduceGenError(Exception):
    """Base of everything raised on purpose; `diagnostics` says what is wrong."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(format_diagnostics(self.diagnostics))


class SpecError(AllReduceGenError):
    """A value means nothing, or the spec cannot be planned (AR1xx)."""


class PlanError(AllReduceGenError):
    """A plan is not well formed (AR2xx)."""


class CheckError(AllReduceGenError):
    """A plan, a trace or a program is unsound (AR3xx to AR5xx)."""


class EmitError(AllReduceGenError):
    """No source could be written (AR6xx)."""


class EngineError(AllReduceGenError):
    """An engine could not do its work (AR7xx, AR8xx)."""


class EngineUnavailableError(EngineError):
    """The engine is not installed, or not complete (AR701)."""


class CompileError(EngineError):
    """The program was refused, unreadable or not found (AR702 to AR707)."""


class ExecutionError(EngineError):
    """The run failed or gave wrong results (AR8xx)."""


class InternalError(AllReduceGenError):
    """Our own fault (AR9xx)."""
