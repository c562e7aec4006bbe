"""`python -m allreduce_gen.engines.mpi.child FOLDER`: one rank of a started job."""

from __future__ import annotations

import sys
from pathlib import Path

from .available import unavailable
from .job import note_start, read_job, write_failure, write_result
from .work import OneRankFailedError


def main(folder: Path) -> None:
    """Run the rank that mpiexec made of this process, and leave its result."""
    try:
        from mpi4py import MPI

        from .rank import run_rank
    except (ImportError, RuntimeError) as error:
        finding = unavailable(f"mpi4py does not load: {error}", "reinstall mpi4py")
        write_failure(folder, 0, (finding,))
        raise SystemExit(1) from error
    comm = MPI.COMM_WORLD
    note_start(folder, comm.rank)
    try:
        write_result(folder, comm.rank, run_rank(comm, read_job(folder)))
    except OneRankFailedError as error:
        write_failure(folder, comm.rank, error.diagnostics)
        comm.Abort(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
