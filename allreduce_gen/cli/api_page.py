"""docs/reference/api.md, made from the docstrings of what `allreduce_gen` exports."""

from __future__ import annotations

import dataclasses
import enum
import inspect
from collections.abc import Callable, Iterator
from types import MemberDescriptorType
from typing import Any

import allreduce_gen

_INTRODUCTION = """\
# Library

<!-- Made from the docstrings; CONTRIBUTING.md says how. -->

An all-reduce of torch tensors inside one process, in three lines after torch:

```python
import torch
from allreduce_gen import AllReduceSpec, generate
kernel = generate(AllReduceSpec(num_ranks=4, size=4096))
sums = kernel.run([torch.full((4096,), float(rank)) for rank in range(4)]).outputs
```

`sums` is a list of four tensors like the inputs. Everything below is imported from
`allreduce_gen`. What is raised on purpose is an AllReduceGenError; its `diagnostics`
say what was seen and wanted, where, and what to do.
"""

_ORDER = (
    "generate",
    "check",
    "check_source",
    "run",
    "AllReduceSpec",
    "Kernel",
    "AllReduceResult",
    "RunOptions",
)


def format_api_page() -> str:
    """The whole page as Markdown: what is called first, then the words."""
    names = [*_ORDER, *(one for one in allreduce_gen.__all__ if one not in _ORDER)]
    exported = ((name, getattr(allreduce_gen, name)) for name in names)
    sections = [
        _format_section(name, value)
        for name, value in exported
        if not isinstance(value, str)
    ]
    return "\n".join((_INTRODUCTION, *sections))


def _format_section(name: str, value: Any) -> str:
    parts = [f"## {name}\n"]
    if inspect.isfunction(value):
        parts.append(_format_signature(value))
    parts.append(f"{inspect.getdoc(value)}\n")
    if inspect.isclass(value):
        parts += _format_members(value)
    return "\n".join(parts)


def _format_members(kind: type[Any]) -> Iterator[str]:
    if issubclass(kind, enum.Enum):
        words = ", ".join(f"`{one.name}` ({one.value})" for one in kind)
        yield f"Members: {words}.\n"
    elif dataclasses.is_dataclass(kind):
        fields = "\n".join(
            f"- `{one.name}: {one.type}`{_format_default(one)}"
            for one in dataclasses.fields(kind)
        )
        yield f"{fields}\n"
        for name, member in vars(kind).items():
            if not name.startswith("_"):
                yield from _format_member(kind.__name__, name, member)


def _format_default(field: dataclasses.Field[Any]) -> str:
    if field.default is dataclasses.MISSING:
        return ""
    return f", unless given `{_format_value(field.default)}`"


def _format_value(value: Any) -> str:
    if dataclasses.is_dataclass(value):
        return f"{type(value).__name__}()"
    return str(value) if isinstance(value, enum.Enum) else repr(value)


def _format_member(owner: str, name: str, member: Any) -> Iterator[str]:
    if isinstance(member, MemberDescriptorType):  # a slot, told as a field already
        return
    function: Any = member.fget if isinstance(member, property) else member
    yield f"### {owner}.{name}\n"
    if not isinstance(member, property):
        yield _format_signature(function)
    yield f"{inspect.getdoc(function)}\n"


def _format_signature(function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    parameters = [one for one in signature.parameters.values() if one.name != "self"]
    lines = [f"    {_format_parameter(one)}," for one in parameters]
    keyword = next((at for at, one in enumerate(parameters) if _is_keyword(one)), None)
    if keyword is not None:
        lines.insert(keyword, "    *,")
    head = f"{function.__name__}(" + ("\n" + "\n".join(lines) + "\n" if lines else "")
    return f"```text\n{head}) -> {signature.return_annotation}\n```\n"


def _format_parameter(parameter: inspect.Parameter) -> str:
    default = parameter.default
    text = f"{parameter.name}: {parameter.annotation}"
    if default is inspect.Parameter.empty:
        return text
    return f"{text} = {_format_value(default)}"


def _is_keyword(parameter: inspect.Parameter) -> bool:
    return parameter.kind is inspect.Parameter.KEYWORD_ONLY
