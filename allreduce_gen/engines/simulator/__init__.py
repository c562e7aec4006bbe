"""The simulator: runs a trace on numpy arrays, in any order that its signals allow."""

from .allocate import Windows, make_windows
from .run import count_ranks, prepare, simulate, simulate_in_place

__all__ = [
    "Windows",
    "count_ranks",
    "make_windows",
    "prepare",
    "simulate",
    "simulate_in_place",
]
