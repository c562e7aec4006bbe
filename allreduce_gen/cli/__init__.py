"""The command line: the only part that prints, reads arguments and picks exit codes."""

from .main import main, run_cli

__all__ = ["main", "run_cli"]
