"""Documentation examples are tests: every console block is run as it stands.

The commands of one page share a folder. A line `$ command  # exit code 1` says how the
command ends, where that is not 0; lines without `$` are what it must print on stdout.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser

_SCRIPTS = Path(sys.executable).parent
_EXIT = re.compile(r"#\s*exit code (\d+)\s*$")


class _ConsoleParser(CodeBlockParser):
    """Runs the `$` lines of console blocks in a shell."""

    language = "console"

    def evaluate(self, example: Example) -> None:
        for command, output in _sessions(example.parsed):
            wanted = _EXIT.search(command)
            done = subprocess.run(
                command,
                shell=True,
                capture_output=True,
                text=True,
                check=False,
                cwd=example.namespace["folder"],
                env=os.environ
                | {"PATH": f"{_SCRIPTS}{os.pathsep}{os.environ['PATH']}"},
            )
            assert done.returncode == (int(wanted[1]) if wanted else 0), done.stderr
            if output:
                assert done.stdout.strip() == output.strip()


def _sessions(block: str) -> list[tuple[str, str]]:
    """Each command of a console block with the output shown under it."""
    sessions = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(text.partition("\n")[0], text.partition("\n")[2]) for text in sessions]


def _setup(namespace: dict[str, str]) -> None:
    namespace["folder"] = tempfile.mkdtemp()


def _teardown(namespace: dict[str, str]) -> None:
    shutil.rmtree(namespace["folder"])


pytest_collect_file = Sybil(
    parsers=[_ConsoleParser()],
    patterns=["README.md", "docs/**/*.md", "docs/*.md"],
    setup=_setup,
    teardown=_teardown,
).pytest()
