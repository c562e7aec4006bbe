"""`python -m allreduce_gen`, and the console script."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    """Import the command line and run it; an interrupt meanwhile ends both alike."""
    try:
        from .cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
