"""pypto's own collectives as the events that its compiler makes of them.

Each works for one rank on a Crew: the ranks that share a window, and their signal.
"""

from .crew import Crew
from .exchange import all_gather, all_to_all, broadcast, reduce_scatter
from .mesh import mesh_all_reduce
from .ring import host_ring_all_reduce, ring_all_reduce

__all__ = [
    "Crew",
    "all_gather",
    "all_to_all",
    "broadcast",
    "host_ring_all_reduce",
    "mesh_all_reduce",
    "reduce_scatter",
    "ring_all_reduce",
]
