"""The pypto engine: the real compiler and runtime, in a process of their own."""

from .engine import compile_here, run_pypto

__all__ = ["compile_here", "run_pypto"]
