"""What a finding is: a code, a place, the numbers, and what to do about it."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Severity(enum.Enum):
    """How much a finding matters: only errors refuse."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """One kind of finding. Its number is never reused for another kind.

    `what`, `why`, `example` and `fix` are the text of `allreduce-gen explain` and of
    docs/reference/diagnostics.md.
    """

    id: str
    name: str
    what: str
    why: str
    example: str
    fix: str
    severity: Severity = Severity.ERROR


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """Where a finding is: a line of a file or a step of a plan, and whose event it is.

    `event` counts the events of one rank from 0, or of one block where `block` says
    which; `kind` is that event's word.
    """

    file: str | None = None
    line: int | None = None
    step: str | None = None
    rank: int | None = None
    block: int | None = None
    event: int | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One labelled fact beside a finding, such as where the slot was first used."""

    label: str
    text: str
    location: Location | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One line of an interleaving: what happens next, and where."""

    text: str
    location: Location | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One finding: what was seen and wanted, where, and what to do.

    `severity` is the code's own unless a finding is milder or graver than its kind.
    `counterexample` is an interleaving that shows it, in order; it may be left out.
    """

    code: Code
    message: str
    help: str
    location: Location | None = None
    notes: tuple[Note, ...] = ()
    severity: Severity = Severity.ERROR
    counterexample: tuple[Moment, ...] = ()

    @property
    def is_error(self) -> bool:
        return self.severity is Severity.ERROR


def diagnose(
    code: Code,
    message: str,
    *,
    help: str,
    location: Location | None = None,
    notes: tuple[Note, ...] = (),
    severity: Severity | None = None,
    counterexample: tuple[Moment, ...] = (),
) -> Diagnostic:
    """A finding of kind `code`, with that kind's severity unless another is given."""
    return Diagnostic(
        code=code,
        message=message,
        help=help,
        location=location,
        notes=notes,
        severity=severity or code.severity,
        counterexample=counterexample,
    )
