"""What becomes of a mutant: killed by a code, proved equivalent, or neither."""

from __future__ import annotations

from pathlib import Path

from allreduce_gen.checks import Collective
from allreduce_gen.engines.base import EngineName, RunOptions
from allreduce_gen.engines.judge import judge
from allreduce_gen.errors import AllReduceGenError, CompileError
from allreduce_gen.verdicts import CheckedProgram, check_file, run_checked

from .catalogue import Mutation

KILLED, EQUIVALENT, SURVIVED = "killed", "equivalent", "survived"

BUDGET = 5_000_000
"""States that the second judge may look at: enough for 16 ranks and three calls."""


def find_errors(text: str, calls: int, folder: Path) -> set[str]:
    """The codes of all errors that `check` finds in an all-reduce with this text."""
    found = _check(text, calls, folder)
    return found if isinstance(found, set) else _errors(found)


def _errors(checked: CheckedProgram) -> set[str]:
    return {one.code.id for one in checked.findings if one.is_error}


def _check(text: str, calls: int, folder: Path) -> CheckedProgram | set[str]:
    """The verdict, or the codes with which the text is refused."""
    path = folder / "mutant.py"
    path.write_text(text, encoding="utf-8")
    try:
        (checked,) = check_file(path, num_calls=calls, collective=Collective.ALL_REDUCE)
    except CompileError as error:
        return {one.code.id for one in error.diagnostics}
    return checked


def judge_mutant(text: str, mutation: Mutation, calls: int, folder: Path) -> str:
    """One of the three words, with what was found where it is not killed as stated."""
    checked = _check(text, calls, folder)
    if isinstance(checked, CheckedProgram) and not _errors(checked):
        return _prove_equivalent(checked)
    found = checked if isinstance(checked, set) else _errors(checked)
    return KILLED if found & mutation.codes else f"{SURVIVED}: found {sorted(found)}"


def _prove_equivalent(checked: CheckedProgram) -> str:
    """Sound in every execution, and so right in each where it is right in one."""
    verdict = judge(checked.trace, budget=BUDGET)
    if not verdict.is_sound:
        return f"{SURVIVED}: the second judge says {verdict}"
    try:
        run_checked(checked, EngineName.SIMULATOR, RunOptions())
    except AllReduceGenError as error:
        return f"{SURVIVED}: {error}"
    return EQUIVALENT
