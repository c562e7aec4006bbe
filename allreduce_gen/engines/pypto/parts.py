"""Which parts of the real pypto are here, found without importing any of it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

from allreduce_gen.diagnostics import Diagnostic, codes, diagnose

TRIED_COMMIT = "e2d0f78ae6d709c0d6ee345a48db2c3d621a4b09"
"""The commit of hw-native-sys/pypto that the facts used here were tried on."""

_PTOAS_PLACES = ("ptoas", "ptoas.sh", "bin/ptoas")


@dataclass(frozen=True, slots=True, kw_only=True)
class PyptoParts:
    """What is installed. `is_canns` says that `pypto` is CANN's package of that name.

    `commit` is None where the installation does not say it. `compiler` is the one for
    the kernels of the simulator, `cann` the toolkit for devices.
    """

    has_pypto: bool
    is_canns: bool
    commit: str | None
    ptoas: str | None
    has_runtime: bool
    compiler: str | None
    cann: str | None


def find_parts() -> PyptoParts:
    """What of pypto this Python and this environment have."""
    folders = _folders("pypto")
    return PyptoParts(
        has_pypto=folders is not None,
        is_canns=folders is not None and not any(map(_has_language, folders)),
        commit=None if folders is None else _find_commit(),
        ptoas=_find_ptoas(),
        has_runtime=_folders("simpler") is not None,
        compiler=shutil.which("g++-15"),
        cann=os.environ.get("ASCEND_HOME_PATH"),
    )


def _folders(package: str) -> list[Path] | None:
    where = importlib.util.find_spec(package)
    if where is None:
        return None
    return [Path(one) for one in where.submodule_search_locations or ()]


def _has_language(folder: Path) -> bool:
    return (folder / "language").is_dir()


def _find_ptoas() -> str | None:
    """As pypto looks for it: under PTOAS_ROOT where that is set, else on PATH."""
    root = os.environ.get("PTOAS_ROOT")
    if not root:
        return shutil.which("ptoas")
    candidates = (Path(root) / place for place in _PTOAS_PLACES)
    return next((str(one) for one in candidates if os.access(one, os.X_OK)), None)


def _find_commit() -> str | None:
    """The commit that pip recorded, or that the checkout of an editable install has."""
    try:
        text = importlib.metadata.distribution("pypto").read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        return None
    recorded = json.loads(text or "{}")
    commit: str | None = recorded.get("vcs_info", {}).get("commit_id")
    url = urlparse(recorded.get("url", ""))
    return commit or (_head(unquote(url.path)) if url.scheme == "file" else None)


def _head(folder: str) -> str | None:
    git = shutil.which("git")
    if git is None:
        return None
    done = subprocess.run(
        [git, "-C", folder, "rev-parse", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or None


def missing_part(
    parts: PyptoParts, platform: str, *, compile_only: bool = False
) -> Diagnostic | None:
    """AR701 for the first part that keeps `platform` from working, or None.

    `compile_only` needs the frontend alone.
    """
    for what, help in _gaps(parts, platform, compile_only):
        return diagnose(codes.AR701, f"pypto cannot be used: {what}", help=help)
    return None


def _gaps(
    parts: PyptoParts, platform: str, compile_only: bool
) -> list[tuple[str, str]]:
    """Everything that is missing, the first thing to install first."""
    frontend = [
        (
            not parts.has_pypto,
            "it is not installed",
            "install hw-native-sys/pypto from its repository (the pypto on PyPI is "
            "CANN's), or use --engine simulator",
        ),
        (
            parts.has_pypto and parts.is_canns,
            "the package called pypto here is CANN's, which has no pypto.language",
            "replace it by hw-native-sys/pypto, or use --engine simulator",
        ),
    ]
    backend = [
        (
            parts.ptoas is None,
            "its assembler, ptoas, was not found",
            "set PTOAS_ROOT to a ptoas release or put ptoas on PATH; --compile-only "
            "does without",
        ),
        (
            not parts.has_runtime,
            "its runtime, simpler, is not installed",
            "install hw-native-sys/simpler, as pypto's documents say; --compile-only "
            "does without",
        ),
        (
            platform.endswith("sim") and parts.compiler is None,
            "g++-15, which compiles kernels for its simulator, is not on PATH",
            "install g++-15, or put it on PATH",
        ),
        (
            not platform.endswith("sim") and parts.cann is None,
            f"platform {platform} needs the CANN toolkit, and ASCEND_HOME_PATH is "
            "not set",
            f"set up CANN, or use -p {platform}sim",
        ),
    ]
    needed = frontend if compile_only else [*frontend, *backend]
    return [(what, help) for missing, what, help in needed if missing]


def next_step(parts: PyptoParts) -> str:
    """What to install next for runs on pypto's CPU simulator; "" where nothing."""
    gaps = _gaps(parts, "a2a3sim", compile_only=False)
    return gaps[0][1] if gaps else ""
