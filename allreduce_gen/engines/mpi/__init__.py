"""The MPI engine: one process a rank, on one machine or on several."""

from .engine import run_mpi

__all__ = ["run_mpi"]
