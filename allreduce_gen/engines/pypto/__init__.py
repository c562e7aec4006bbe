"""The pypto engine: the real compiler and runtime, in a process of their own.

    run_pypto --> worker  one process a platform, kept for the next call
                    |  JSON lines, arrays as files
                  child   compiling.py, then pypto's own worker, prepared once

One process serves one backend of pypto only. What is missing is found before a process
is started (parts.py).
"""

from .compiling import compile_here
from .engine import compile_source, run_pypto
from .parts import PyptoParts, find_parts, missing_part

__all__ = [
    "PyptoParts",
    "compile_here",
    "compile_source",
    "find_parts",
    "missing_part",
    "run_pypto",
]
