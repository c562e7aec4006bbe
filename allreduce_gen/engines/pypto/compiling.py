"""The real pypto's compiler on a kernel file, in this process."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from allreduce_gen.diagnostics import Diagnostic, Location, codes, diagnose
from allreduce_gen.engines.base import SourceProgram
from allreduce_gen.errors import CompileError, EngineUnavailableError

from .parts import find_parts, missing_part

_MODULE = "allreduce_gen_pypto_kernel"
_WORDS = 3  # lines of pypto's message that are quoted
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def compile_here(
    source: SourceProgram,
    *,
    devices: Sequence[int] | None = None,
    output_dir: Path | None = None,
    compile_only: bool = False,
) -> Any:
    """What pypto makes of `source`: a callable for host torch tensors.

    `compile_only` stops before the assembler; the result has an `output_dir`.

    Raises EngineUnavailableError (AR701) where a part is missing or the devices are not
    one a rank, CompileError (AR702) where pypto refuses the program.
    """
    missing = missing_part(find_parts(), source.platform, compile_only=compile_only)
    missing = missing or wrong_devices(source, devices)
    if missing is not None:
        raise EngineUnavailableError([missing])
    ids = list(range(source.num_ranks) if devices is None else devices)
    with _on_disk(source) as file:
        try:
            program = _find(_load(file), source.name)
            return _compile(program, source, ids, output_dir, compile_only)
        except Exception as error:  # whatever pypto raises is its verdict
            raise CompileError([_rejected(error, source, file)]) from error


def wrong_devices(
    source: SourceProgram, devices: Sequence[int] | None
) -> Diagnostic | None:
    """AR701 where there is not one device a rank: pypto itself would go on."""
    if devices is None or len(devices) == source.num_ranks:
        return None
    return diagnose(
        codes.AR701,
        f"the kernel has {source.num_ranks} ranks, but {len(devices)} devices were "
        "given",
        help=f"give {source.num_ranks} different ids with -d",
    )


@contextmanager
def _on_disk(source: SourceProgram) -> Iterator[Path]:
    """A file that pypto can read the source from; it reads it while it is loaded."""
    if source.text is None:
        yield source.file
        return
    with tempfile.TemporaryDirectory(prefix="allreduce-gen-") as folder:
        file = Path(folder) / source.file.name
        file.write_text(source.text, encoding="utf-8")
        yield file


def _load(file: Path) -> ModuleType:
    """`file` as a module, with its own folder to import from."""
    spec = importlib.util.spec_from_file_location(_MODULE, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[_MODULE] = module
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(file.parent))
    return module


def _find(module: ModuleType, name: str) -> Any:
    """The program called `name`, whatever name the module has for it."""
    named = getattr(module, name, None)
    if named is not None:
        return named
    values = vars(module).values()
    return next(one for one in values if getattr(one, "name", None) == name)


def _compile(
    program: Any,
    source: SourceProgram,
    devices: list[int],
    output_dir: Path | None,
    compile_only: bool,
) -> Any:
    from pypto import ir
    from pypto.ir.distributed_compiled_program import DistributedConfig

    config = DistributedConfig(device_ids=devices)
    if not isinstance(program, ir.Program):
        return _compile_jit(program, source, config, compile_only)
    return ir.compile(
        program,
        output_dir=None if output_dir is None else str(output_dir),
        platform=source.platform,
        skip_ptoas=compile_only,
        dump_passes=False,
        distributed_config=config,
    )


def _compile_jit(
    host: Any, source: SourceProgram, config: Any, compile_only: bool
) -> Any:
    """A jit function compiles itself; its scalars stay arguments."""
    import pypto.language as pl
    from pypto.runtime import RunConfig

    with _without_assembler() if compile_only else _as_it_is():
        return host.compile(
            config=RunConfig(platform=source.platform, distributed_config=config),
            **dict.fromkeys(source.scalars, pl.RUNTIME),
        )


@contextmanager
def _without_assembler() -> Iterator[None]:
    """The jit form stops before the assembler where it finds none."""
    before = os.environ.copy()
    os.environ.pop("PTOAS_ROOT", None)
    folders = before.get("PATH", "").split(os.pathsep)
    without = [one for one in folders if not os.access(Path(one) / "ptoas", os.X_OK)]
    os.environ["PATH"] = os.pathsep.join(without)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _as_it_is() -> Iterator[None]:
    yield


def _rejected(error: Exception, source: SourceProgram, file: Path) -> Diagnostic:
    """The compiler's own words, and the line of the kernel where it names one."""
    lines = [
        line.strip()
        for line in _COLOUR.sub("", str(error)).splitlines()
        if line.strip()
    ]
    words = " ".join(lines[:_WORDS]) if lines else type(error).__name__
    hint = getattr(error, "hint", None)
    return diagnose(
        codes.AR702,
        f"pypto refused {source.name}: {words}",
        help=hint or "follow pypto's message; `allreduce-gen check` says what it can",
        location=Location(file=str(source.file), line=_find_line(error, lines, file)),
    )


def _find_line(error: Exception, lines: list[str], file: Path) -> int | None:
    span = getattr(error, "span", None)
    if isinstance(span, dict) and span.get("line"):
        return int(span["line"])
    pattern = re.compile(re.escape(file.name) + r":(\d+)")
    found = next((match for line in lines if (match := pattern.search(line))), None)
    return int(found[1]) if found else None
