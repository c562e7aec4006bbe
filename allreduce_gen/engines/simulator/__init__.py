"""The simulator: runs a trace on numpy arrays, in any order that its signals allow."""

from .run import count_ranks, prepare, simulate

__all__ = ["count_ranks", "prepare", "simulate"]
