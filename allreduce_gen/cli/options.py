"""The flags that say what is wanted, the same for every command that takes them."""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import click

from allreduce_gen.spec import (
    Accumulate,
    Algorithm,
    AllReduceSpec,
    DType,
    Form,
    ReduceOp,
    Reuse,
)
from allreduce_gen.targets import PLATFORMS

_Option: TypeAlias = Callable[[Any], Any]
_Command = TypeVar("_Command", bound=Callable[..., Any])

_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


def parse_size(text: str) -> int:
    """A number of elements: `4096`, `64K`, `1M` (1024-based)."""
    parsed = re.fullmatch(r"([+-]?\d+)([KMG]?)", text.strip(), re.IGNORECASE)
    if parsed is None:
        raise click.BadParameter(
            f"{text!r} is no number of elements like 4096, 64K or 1M"
        )
    return int(parsed[1]) * _UNITS[parsed[2].upper()]


def parse_shape(text: str) -> tuple[int, ...]:
    """The dimensions of a tensor: `128x4096`."""
    if re.fullmatch(r"\d+(x\d+)*", text) is None:
        raise click.BadParameter(f"{text!r} is no shape like 128x4096")
    return tuple(map(int, text.split("x")))


class WordType(click.Choice):  # type: ignore[type-arg]  # generic since click 8.2
    """One word of a list; a hyphen stands for an underscore."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        return super().convert(str(value).replace("-", "_"), param, ctx)


def _word(flag: str, kind: type[enum.Enum], default: enum.Enum, help: str) -> _Option:
    """A flag whose values are the words of `kind`."""
    return click.option(
        flag,
        type=WordType([member.value for member in kind]),
        default=default.value,
        show_default=True,
        help=help,
    )


_SPEC_OPTIONS = (
    click.option("--ranks", type=int, required=True, help="World size."),
    click.option("--size", type=parse_size, help="Elements a rank; also 64K, 1M."),
    click.option("--shape", type=parse_shape, help="Or a rank's tensor: 128x4096."),
    _word("--algorithm", Algorithm, Algorithm.TWO_PHASE, "How the data moves."),
    _word("--dtype", DType, DType.FP32, "Element type."),
    _word("--op", ReduceOp, ReduceOp.SUM, "How elements are combined."),
    click.option(
        "--platform",
        type=WordType(list(PLATFORMS)),
        default="a2a3sim",
        show_default=True,
        help="What the kernel is made for.",
    ),
    _word("--accumulate", Accumulate, Accumulate.WIDE, "Type of 16-bit float sums."),
    _word("--reuse", Reuse, Reuse.ONCE, "How windows may persist between calls."),
    _word("--form", Form, Form.PROGRAM, "How the kernel is spelled."),
    click.option("--tile", type=int, help="Most elements in one load or store."),
    click.option("--in-place", is_flag=True, help="One window instead of two."),
    click.option(
        "--strict-divisible",
        is_flag=True,
        help="Refuse a size that the ranks do not divide.",
    ),
)


def spec_options(command: _Command) -> _Command:
    """All flags that say which all-reduce is wanted."""
    for option in reversed(_SPEC_OPTIONS):
        command = option(command)
    return command


def make_spec(
    *, ranks: int, size: int | None, shape: tuple[int, ...] | None, **words: Any
) -> AllReduceSpec:
    """The spec that the flags of `spec_options` say.

    Raises UsageError where neither a size nor a shape is given.
    """
    if size is None and shape is None:
        raise click.UsageError("--size or --shape is missing: give one of them")
    return AllReduceSpec(
        num_ranks=ranks,
        size=math.prod(shape or ()) if size is None else size,
        shape=shape,
        algorithm=Algorithm(words.pop("algorithm")),
        dtype=DType(words.pop("dtype")),
        op=ReduceOp(words.pop("op")),
        accumulate=Accumulate(words.pop("accumulate")),
        reuse=Reuse(words.pop("reuse")),
        form=Form(words.pop("form")),
        **words,
    )
