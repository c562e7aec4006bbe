"""The MPI engine: one process a rank, on one machine or on several.

    run_mpi --> launch --mpiexec-->  child  child  child  child     one machine
            \\-> joined                                               under mpiexec

In both cases `rank.run_rank` is what a process does. mpi4py is imported where it is
used, so that this package can be imported without it.
"""

from .available import find_mpiexec, has_mpi4py, joined_rank
from .engine import end_job, run_mpi, tell_peers
from .work import OneRankFailedError, PeerFailedError

__all__ = [
    "OneRankFailedError",
    "PeerFailedError",
    "end_job",
    "find_mpiexec",
    "has_mpi4py",
    "joined_rank",
    "run_mpi",
    "tell_peers",
]
