"""From a file to its verdict: every program that it defines, traced, checked, run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from .checks import Collective, without_collection
from .diagnostics import Diagnostic, codes, diagnose, split_silenced
from .engines.all_reduce import RunReport, run_all_reduce
from .engines.base import (
    DEFAULT_OPTIONS,
    ENGINE_RULE,
    EngineName,
    RunOptions,
    SourceProgram,
)
from .engines.choice import run_engine
from .errors import CheckError, ExecutionError
from .exploration import check_and_explore
from .frontend import Program, load_programs, load_source, trace_program
from .ir.calls import join_calls
from .ir.recognise import call_buffers, recognise_op
from .ir.trace import Trace
from .kernel import Kernel
from .pipeline import refuse
from .sources import describe_source
from .targets import PLATFORM_RULE
from .values import read_value


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedProgram:
    """One program of a file: its calls as one trace, what it computes, what was found.

    `collective` is None where the outputs match none; provenance is then not judged.
    `silenced` are warnings that comments in the file ask to leave out of `findings`.
    """

    source: SourceProgram
    trace: Trace
    collective: Collective | None
    findings: tuple[Diagnostic, ...]
    silenced: tuple[Diagnostic, ...] = ()

    @property
    def name(self) -> str:
        return self.source.name


def check(subject: Path | str | Kernel) -> tuple[Diagnostic, ...]:
    """All findings about the programs of a file, or about a kernel; () where sound.

    The Python of a file outside kernels is executed. Raises CompileError (AR703 to
    AR707) where there is nothing that can be judged.
    """
    if isinstance(subject, Kernel):
        return check_source(subject.source, platform=subject.spec.platform)
    checked = check_file(Path(subject))
    return tuple(finding for one in checked for finding in one.findings)


def check_source(text: str, *, platform: str = "a2a3sim") -> tuple[Diagnostic, ...]:
    """All findings about the programs that `text` defines; () where they are sound.

    It is executed, and refused, as a file is by `check`; it imports from the current
    folder. Raises SpecError (AR107) for an unknown platform.
    """
    file, target = Path("<source>"), read_value("platform", platform, PLATFORM_RULE)
    return tuple(
        finding
        for program in load_source(text.encode(), str(file), Path.cwd())
        for finding in _check_program(
            program, file, None, 1, target, None, lambda _: text
        ).findings
    )


def run(
    path: Path | str,
    *,
    engine: str | EngineName = EngineName.SIMULATOR,
    platform: str = "a2a3sim",
    options: RunOptions = DEFAULT_OPTIONS,
) -> tuple[RunReport, ...]:
    """Check the file at `path`, run its all-reduces, compare every rank with numpy.

    One report a program; there is one only where every rank was right. Its Python
    outside kernels is executed.

    Raises CheckError with all findings where a check refuses, CompileError (AR703 to
    AR707) where the file cannot be read, EngineError as the engine says,
    ExecutionError (AR802) for a wrong result, and SpecError (AR107) for an unknown
    engine or platform.
    """
    return run_file(
        Path(path),
        options,
        engine=read_value("engine", engine, ENGINE_RULE),
        platform=read_value("platform", platform, PLATFORM_RULE),
    )


def check_file(
    path: Path,
    *,
    num_ranks: int | None = None,
    num_calls: int = 1,
    platform: str = "a2a3sim",
    collective: Collective | None = None,
) -> tuple[CheckedProgram, ...]:
    """The verdict on every module-level program of the file at `path`.

    Its Python outside kernels is executed. `num_calls` calls on the same windows are
    judged together; what a program computes is recognised unless `collective` says.

    Raises CompileError where there is nothing that can be judged.
    """
    return tuple(
        _check_program(
            program, path, num_ranks, num_calls, platform, collective, _read_text
        )
        for program in load_programs(path)
    )


def _check_program(
    program: Program,
    file: Path,
    num_ranks: int | None,
    num_calls: int,
    platform: str,
    collective: Collective | None,
    read: Callable[[str], str],
) -> CheckedProgram:
    """`program`, every scalar of which is the number of the call, from 1."""
    with without_collection():
        traced = [
            trace_program(
                program,
                num_ranks=num_ranks,
                platform=platform,
                scalars=dict.fromkeys(program.scalars, call),
            )
            for call in range(1, num_calls + 1)
        ]
        trace = join_calls([one.trace for one in traced])
    found = traced[0].diagnostics
    return judge_trace(
        program,
        file,
        trace,
        found,
        collective=collective,
        alike_calls=True,
        read=read,
    )


def judge_trace(
    program: Program,
    file: Path,
    trace: Trace,
    found: tuple[Diagnostic, ...],
    *,
    collective: Collective | None = None,
    alike_calls: bool = False,
    read: Callable[[str], str] | None = None,
) -> CheckedProgram:
    """The verdict on `trace`, which is of `program` in `file`.

    `found` is what tracing found in the source; `read` gives the text of a file. Calls
    that differ in nothing but their number are to be `alike_calls`.
    """
    explored = check_and_explore(trace, collective=collective, alike_calls=alike_calls)
    findings, silenced = split_silenced(
        (*found, *explored.findings), read or _read_text
    )
    return CheckedProgram(
        source=describe_source(
            program, file, num_ranks=trace.num_ranks, platform=trace.platform
        ),
        trace=trace,
        collective=explored.collective,
        findings=findings,
        silenced=silenced,
    )


def _read_text(file: str) -> str:
    """The text of a file that a finding names; none where it cannot be read."""
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def run_file(
    path: Path,
    options: RunOptions,
    *,
    engine: EngineName = EngineName.SIMULATOR,
    num_ranks: int | None = None,
    platform: str = "a2a3sim",
) -> tuple[RunReport, ...]:
    """Check, then run every all-reduce of the file at `path`.

    Raises CheckError where the checks refuse one, ExecutionError where a run fails or
    a program is no all-reduce.
    """
    checked = check_for_run(path, num_ranks=num_ranks, platform=platform)
    return tuple(run_checked(one, engine, options) for one in checked)


def check_for_run(
    path: Path, *, num_ranks: int | None = None, platform: str = "a2a3sim"
) -> tuple[CheckedProgram, ...]:
    """The programs of the file at `path`, all sound. Raises CheckError where not."""
    checked = check_file(path, num_ranks=num_ranks, platform=platform)
    refuse(CheckError, (finding for one in checked for finding in one.findings))
    return checked


def run_checked(
    checked: CheckedProgram, engine: EngineName, options: RunOptions
) -> RunReport:
    """Run one all-reduce on inputs of our own. Raises EngineError."""
    op, calls = recognise_op(checked.trace), call_buffers(checked.trace)
    if checked.collective is not Collective.ALL_REDUCE or op is None or calls is None:
        seen = checked.collective.value if checked.collective else "no known collective"
        raise ExecutionError(
            [
                diagnose(
                    codes.AR703,
                    f"program {checked.name} is {seen}; run makes inputs for an "
                    "all-reduce by one operator only",
                    help="run the file's own main() instead: it has the inputs",
                )
            ]
        )
    execute = partial(
        run_engine, engine, checked.trace, checked.source, options=options
    )
    return run_all_reduce(execute, checked.trace, calls, op)
