"""A program file imported as an ordinary module, under stand-ins for pypto."""

from __future__ import annotations

import ast
import contextlib
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, ModuleType

from allreduce_gen.diagnostics import Location, codes, diagnose
from allreduce_gen.errors import AllReduceGenError, CompileError

from .installing import installed
from .library import Library
from .program import Program
from .refusals import NeedsScriptError
from .runtime import Runtime
from .session import Session
from .source import SourceFiles, parse_source, read_source, unreadable
from .standins import make_modules

_MODULE = "allreduce_gen_loaded"
"""The name under which a file is a module while it is loaded."""


def load_programs(path: Path) -> tuple[Program, ...]:
    """The programs that the file at `path` defines at module level, in order.

    The file's own Python is executed as an import executes it: `__name__` is not
    "__main__". Nothing of the real pypto is used or left shadowed.

    Raises CompileError: AR704 where the file cannot be read, is no Python or fails
    while it is imported, AR705 where it has no program, AR703 for what is refused.
    """
    return load_source(read_source(path), str(path), path.resolve().parent)


def load_source(text: bytes, file: str, folder: Path) -> tuple[Program, ...]:
    """The programs of `text`, called `file` in messages, which imports from `folder`.

    It is executed, and refused, as `load_programs` says.
    """
    tree, code = parse_source(text, file)
    sources = SourceFiles()
    sources.add(file, tree)
    library = Library(file, sources)
    module = ModuleType(_MODULE)
    module.__dict__["__file__"] = file
    modules = make_modules(library.make_program) | {_MODULE: module}
    with installed(modules, folder.resolve()):
        _execute(code, module)
        programs = library.programs_in(vars(module))
    if not programs:
        raise _no_program(file)
    return programs


def execute_script(path: Path, arguments: Sequence[str], session: Session) -> None:
    """Run the file at `path` as Python runs it, with `session` in pypto's place.

    Its `__name__` is "__main__" and `arguments` are its command line. What it raises
    is raised, SystemExit too.

    Raises CompileError AR704 where the file cannot be read or is no Python.
    """
    file = str(path)
    tree, code = parse_source(read_source(path), file)
    module = ModuleType("__main__")
    module.__dict__["__file__"] = file
    command, sys.argv = sys.argv, [file, *arguments]
    try:
        with stand_in(session, path.resolve().parent, {"__main__": module}, file, tree):
            exec(code, module.__dict__)
    finally:
        sys.argv = command


@contextlib.contextmanager
def stand_in(
    session: Session,
    folder: Path,
    modules: Mapping[str, ModuleType] | None = None,
    file: str = "<session>",
    tree: ast.Module | None = None,
) -> Iterator[None]:
    """While it lasts, what is imported as pypto compiles and runs by `session`.

    Imports look in `folder` first. `tree` is the content of `file` where it is known.
    """
    sources = SourceFiles()
    if tree is not None:
        sources.add(file, tree)
    library = Library(file, sources)
    runtime = Runtime(library, session)
    made = make_modules(library.make_program, runtime) | dict(modules or {})
    with installed(made, folder, takes_any=True):
        yield


def _execute(code: CodeType, module: ModuleType) -> None:
    """Run the file's module level. Raises CompileError AR704 for what it raises.

    What it prints goes to stderr: stdout is for results.
    """
    file = code.co_filename
    try:
        with contextlib.redirect_stdout(sys.stderr):
            exec(code, module.__dict__)
    except AllReduceGenError:
        raise
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [one.lineno for one in frames if one.filename == file]
        raise unreadable(
            file,
            lines[-1] if lines else None,
            f"{file} fails while it is imported: {type(error).__name__}: {error}",
            help="make the file importable: what it runs at module level must work "
            "without a device",
        ) from None


def _no_program(file: str) -> CompileError:
    return NeedsScriptError(
        [
            diagnose(
                codes.AR705,
                f"{file} defines no pypto program at module level",
                help="put `@pl.program` on a class, or `@pl.jit.host` on a function, "
                "at module level",
                location=Location(file=file),
            )
        ]
    )
