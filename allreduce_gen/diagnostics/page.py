"""docs/reference/diagnostics.md, made from the registry."""

from __future__ import annotations

from collections.abc import Iterable

from .codes import CODES
from .model import Code

_FAMILIES = {
    "AR1": "spec",
    "AR2": "plan",
    "AR3": "synchronisation",
    "AR4": "data",
    "AR5": "resources",
    "AR6": "emission",
    "AR7": "engine set-up",
    "AR8": "run",
    "AR9": "internal",
}

_INTRODUCTION = """\
# Diagnostics

<!-- Made from allreduce_gen/diagnostics/codes; CONTRIBUTING.md says how. -->

Every finding has a code: `AR`, three digits and a name. A code is never reused for
another kind of finding. `allreduce-gen explain AR303` prints what stands here.

An error refuses: no kernel is written, and the exit code is not 0. A warning is
reported and refuses nothing.

A finding says what was seen and wanted, where it is (file and line for a source, the
step for a plan, and the rank), and what to do:

```text
error[AR303] signal-slot-reused: barrier round 1 waits for slot [0, 2] >= 1, which \
round 0 has already satisfied
  --> kernel.py:74, rank 1, event 14 (wait)
   = first use: kernel.py:48, rank 1, event 6 (wait >= 1)
   = consequence: rank 1 may read result[1024:2048] of rank 2 before it is stored \
(AR401)
   = help: give each barrier round its own signal row, or wait for >= 2
   = more: allreduce-gen explain AR303
```
"""


def format_reference_page() -> str:
    """The whole page as Markdown: families as sections, codes in order."""
    families = (_format_family(prefix, title) for prefix, title in _FAMILIES.items())
    return "\n".join((_INTRODUCTION, *families))


def _format_family(prefix: str, title: str) -> str:
    codes = [code for id, code in CODES.items() if id.startswith(prefix)]
    sections = "\n".join(_format_section(code) for code in codes)
    return f"## {prefix}xx: {title}\n\n{_format_table(codes)}\n\n{sections}"


def _format_table(codes: Iterable[Code]) -> str:
    head = "| code | name | severity |\n| --- | --- | --- |"
    rows = (
        f"| [{code.id}](#{code.id.lower()}-{code.name}) | {code.name} "
        f"| {code.severity.value} |"
        for code in codes
    )
    return "\n".join((head, *rows))


def _format_section(code: Code) -> str:
    return (
        f"### {code.id} {code.name}\n\n{code.what}\n\n"
        f"**Why it matters.** {code.why}\n\n"
        f"```text\n{code.example}\n```\n\n**Fix.** {code.fix}\n"
    )
