"""Scripts executed as they are, with their programs checked and run here.

script.py -> ir.compile(program) -> traced, checked -> compiled(x, y) -> simulated
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from .diagnostics import Diagnostic, Location, codes, diagnose
from .errors import AllReduceGenError, CompileError
from .frontend import NeedsScriptError, execute_script, load_programs, stand_in
from .sessions import DEFAULT_SCRIPT, ScriptOptions, ScriptSession
from .verdicts import CheckedProgram


def run_script(
    path: Path,
    arguments: Sequence[str],
    options: ScriptOptions = DEFAULT_SCRIPT,
    *,
    wants_program: bool = False,
) -> None:
    """Run the script at `path` as Python does, its programs on the simulator.

    What it raises is raised, SystemExit too; so are CheckError for a program that is
    refused and EngineError for one that fails. One that `wants_program` and compiles
    none is a CompileError (AR705).
    """
    session = ScriptSession(options)
    execute_script(path, arguments, session)
    if wants_program and not session.num_programs:
        raise CompileError([_no_program(path)])


@contextmanager
def in_place_of_pypto(
    folder: Path, options: ScriptOptions = DEFAULT_SCRIPT
) -> Iterator[None]:
    """While it lasts, what is imported as pypto is checked and simulated here."""
    with stand_in(ScriptSession(options), folder):
        yield


def check_script(
    path: Path, arguments: Sequence[str], options: ScriptOptions = DEFAULT_SCRIPT
) -> tuple[CheckedProgram, ...]:
    """The verdicts on every program that the script at `path` compiles.

    The script is executed, and its programs are run even where they have errors. A
    script that ends with an exception is one more error, unless one was found before.

    Raises CompileError (AR705) where it compiles no program.
    """
    found: list[CheckedProgram] = []
    collecting = replace(options, refuse_errors=False, on_verdict=found.append)
    failure: Diagnostic | None = None
    try:
        run_script(path, arguments, collecting)
    except SystemExit as end:
        if end.code not in (None, 0):
            failure = _script_failed(path, f"ends with {end.code}")
    except AllReduceGenError as error:
        if not found:
            raise
        failure = error.diagnostics[0]
    except Exception as error:
        failure = _script_failed(path, f"raises {type(error).__name__}: {error}")
    if not found:
        raise CompileError([failure or _no_program(path)])
    if failure is not None and not any(_has_error(one) for one in found):
        found[-1] = replace(found[-1], findings=(*found[-1].findings, failure))
    return tuple(found)


def _has_error(checked: CheckedProgram) -> bool:
    return any(finding.is_error for finding in checked.findings)


def _script_failed(path: Path, how: str) -> Diagnostic:
    return diagnose(
        codes.AR704,
        f"{path} {how}",
        help="see what the script wants: its arguments go behind `--`",
        location=Location(file=str(path)),
    )


def _no_program(path: Path) -> Diagnostic:
    return diagnose(
        codes.AR705,
        f"{path} defines no pypto program at module level, and compiles none",
        help="put `@pl.program` on a class, or `@pl.jit.host` on a function; where the "
        "script wants arguments, give them behind `--`",
        location=Location(file=str(path)),
    )


def needs_script(path: Path) -> bool:
    """Whether the programs of the file at `path` only come to be when it is run.

    Its Python is executed as an import executes it. Raises CompileError as `check_file`
    does for a file that cannot be read.
    """
    try:
        load_programs(path)
    except NeedsScriptError:
        return True
    return False
