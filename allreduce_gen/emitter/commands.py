"""Command lines: the one that makes a kernel again, and the one that runs it."""

from __future__ import annotations

from collections.abc import Iterable

from allreduce_gen.spec import AllReduceSpec

from .statements import LINE_LENGTH

_FLAGS = (
    "algorithm",
    "dtype",
    "op",
    "platform",
    "accumulate",
    "reuse",
    "form",
    "transfer",
    "barrier",
    "order",
)
_INDENT = "    "
_MORE = " \\"
"""What ends a line of a command that goes on."""


def format_command(spec: AllReduceSpec) -> str:
    """The command line that emits `spec`, leaving out what is the default."""
    return " ".join(("allreduce-gen", *_emit_flags(spec)))


def show_command(spec: AllReduceSpec) -> str:
    """The same as a docstring's last line or lines; a reason has its own."""
    flags = list(_emit_flags(spec))
    reason = [flags.pop()] if spec.because else []
    lines = _fill("Made by: allreduce-gen", flags, _INDENT)
    return f"{_MORE}\n".join((*lines, *(f"{_INDENT}{one}" for one in reason)))


def show_run(spec: AllReduceSpec, device_list: str) -> str:
    """How the docstring says to run the kernel; a file of a long name is kernel.py."""
    head = f"{_INDENT}python {spec.name}.py"
    if len(head) + len(_MORE) > LINE_LENGTH:
        head = f"{_INDENT}python kernel.py"
    flags = (f"-p {spec.platform}", f"-d {device_list}")
    return f"{_MORE}\n".join(_fill(head, flags, 2 * _INDENT))


def _fill(head: str, words: Iterable[str], indent: str) -> list[str]:
    """`head` and `words` in lines to which a backslash can be added."""
    lines = [head]
    for word in words:
        if len(f"{lines[-1]} {word}{_MORE}") <= LINE_LENGTH:
            lines[-1] += f" {word}"
        else:
            lines.append(f"{indent}{word}")
    return lines


def _emit_flags(spec: AllReduceSpec) -> Iterable[str]:
    default = AllReduceSpec(num_ranks=spec.num_ranks, size=spec.size)
    yield f"--ranks {spec.num_ranks}"
    if spec.shape is None:
        yield f"--size {spec.size}"
    else:
        yield f"--shape {'x'.join(map(str, spec.shape))}"
    for name in _FLAGS:
        value = getattr(spec, name)
        chosen = name == "algorithm" and bool(spec.because)
        if chosen or value != getattr(default, name):
            yield f"--{name} {getattr(value, 'value', value)}"
    if spec.groups is not None:
        yield f"--groups {'x'.join(map(str, spec.groups))}"
    if spec.tile is not None:
        yield f"--tile {spec.tile}"
    for name in ("in_place", "strict_divisible"):
        if getattr(spec, name):
            yield f"--{name.replace('_', '-')}"
    if spec.because:
        yield f'--because "{spec.because}"'
