"""What the real pypto makes of files: the table of docs/reference/conformance.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from .engines.base import EngineName, RunOptions, SourceProgram
from .engines.pypto import find_parts
from .engines.pypto.engine import compile_with, refuse_missing
from .engines.pypto.parts import TRIED_COMMIT
from .engines.pypto.worker import Worker
from .errors import AllReduceGenError, CompileError
from .verdicts import CheckedProgram, check_file, run_checked

PLATFORMS = ("a2a3sim", "a2a3", "a5sim", "a5")
RUN_PLATFORM = "a2a3sim"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conformance:
    """One program: what pypto says on each of PLATFORMS, and whether it ran right.

    `run` is None where nothing was run.
    """

    file: str
    program: str
    verdicts: tuple[str, ...]
    run: str | None


def conform(files: Iterable[Path], *, run: bool) -> Iterator[Conformance]:
    """Compile every program of `files` up to the assembler; `run` also runs it.

    Raises EngineUnavailableError (AR701) where pypto is missing, CompileError (AR703 to
    AR707) for a file that cannot be read here.
    """
    refuse_missing(RUN_PLATFORM, compile_only=not run)
    with ExitStack() as stack:
        workers = {
            platform: stack.enter_context(closing(Worker(builds_here=False)))
            for platform in PLATFORMS
        }
        for file in files:
            by_platform = [check_file(file, platform=one) for one in PLATFORMS]
            for checked in zip(*by_platform, strict=True):
                yield Conformance(
                    file=file.name,
                    program=checked[0].name,
                    verdicts=tuple(
                        _verdict(one, workers[one.source.platform]) for one in checked
                    ),
                    run=_run(checked[0]) if run else None,
                )


def _verdict(checked: CheckedProgram, worker: Worker) -> str:
    """pypto's word, and the codes of what the checks here refuse."""
    refused = sorted({one.code.id for one in checked.findings if one.is_error})
    here = f"; refused here ({', '.join(refused)})" if refused else ""
    return _compile(checked.source, worker) + here


def _compile(source: SourceProgram, worker: Worker) -> str:
    try:
        compile_with(worker, source, RunOptions())
    except CompileError as error:
        return f"refused: {error.diagnostics[0].message}"
    return "accepted"


def _run(checked: CheckedProgram) -> str:
    if any(one.is_error for one in checked.findings):
        return "not run"
    try:
        run_checked(checked, EngineName.PYPTO, RunOptions(timeout=300))
    except AllReduceGenError as error:
        return error.diagnostics[0].code.id
    return "right"


def format_conformance(rows: Sequence[Conformance]) -> str:
    """The page as Markdown."""
    commit = find_parts().commit or TRIED_COMMIT
    has_runs = any(row.run is not None for row in rows)
    head = ("kernel", *PLATFORMS, *((f"run on {RUN_PLATFORM}",) if has_runs else ()))
    table = [head, ("---",) * len(head), *(_cells(row, has_runs) for row in rows)]
    lines = "\n".join(f"| {' | '.join(cells)} |" for cells in table)
    return f"{_INTRODUCTION.format(commit=commit)}\n{lines}\n"


def _cells(row: Conformance, has_runs: bool) -> tuple[str, ...]:
    last = (row.run or "not run",) if has_runs else ()
    return (f"`{row.file}`", *row.verdicts, *last)


_INTRODUCTION = """\
# Conformance

<!-- Made by `allreduce-gen doctor --conformance`; docs/how-to/run-on-pypto.md. -->

What the real pypto, commit `{commit}`, says to
each kernel in `tests/golden/kernels`. *accepted* means that its frontend, its passes
and its code generator took the kernel. The assembler comes after that. *right* means
that the kernel was assembled, built and run on its CPU simulator, and that every rank
was compared with numpy; a code says what went wrong instead (`allreduce-gen explain`).
An INT8 kernel is made for a5: pypto's code generator takes it for a2a3 too, and the
instruction library there then has no such instruction (AR702).

*refused here* marks a kernel that the checks refuse for that platform although pypto
takes it. The checks are stricter because pypto's frontend lets through what fails later
or runs wrong: races, missing barriers, windows larger than their buffer, rows that are
no whole 32-byte blocks, element types that the vector unit does not combine.
"""
