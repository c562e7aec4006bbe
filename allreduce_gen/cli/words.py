"""What the values of flags look like: sizes, shapes, groups, words of a list."""

from __future__ import annotations

import re
from typing import Any

import click

from allreduce_gen.spec import DType
from allreduce_gen.targets import PLATFORMS

DEFAULT_PLATFORM = "a2a3sim"
"""What kernels are made for unless --platform says so."""

_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


def parse_size(text: str) -> int:
    """A number of elements: `4096`, `64K`, `1M` (1024-based)."""
    parsed = re.fullmatch(r"([+-]?\d+)([KMG]?)", text.strip(), re.IGNORECASE)
    if parsed is None:
        raise click.BadParameter(
            f"{text!r} is no number of elements like 4096, 64K or 1M"
        )
    return int(parsed[1]) * _UNITS[parsed[2].upper()]


def parse_sizes(text: str) -> tuple[int, ...]:
    """Several of them: `1K,64K,1M`."""
    return tuple(map(parse_size, text.split(",")))


def parse_shape(text: str) -> tuple[int, ...]:
    """The dimensions of a tensor: `128x4096`."""
    if re.fullmatch(r"\d+(x\d+)*", text) is None:
        raise click.BadParameter(f"{text!r} is no shape like 128x4096")
    return tuple(map(int, text.split("x")))


def parse_groups(text: str) -> tuple[int, int]:
    """How many groups of how many ranks: `4x8`."""
    parsed = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", text)
    if parsed is None:
        raise click.BadParameter(f"{text!r} is not groups x ranks like 4x8")
    return int(parsed[1]), int(parsed[2])


class WordType(click.Choice):  # type: ignore[type-arg]  # generic since click 8.2
    """One word of a list; a hyphen stands for an underscore."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        return super().convert(str(value).replace("-", "_"), param, ctx)


class DTypeType(WordType):
    """An element type that some platform has; a refusal names what this one has."""

    def __init__(self) -> None:
        known = {dtype for one in PLATFORMS.values() for dtype in one.dtypes}
        super().__init__([dtype.value for dtype in DType if dtype in known])

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        if value in self.choices or ctx is None:
            return super().convert(value, param, ctx)
        platform = ctx.params.get("platform", DEFAULT_PLATFORM)
        has = ", ".join(dtype.value for dtype in PLATFORMS[platform].dtypes)
        return self.fail(
            f"{value!r} is not one of {has}: {platform} has no other", param, ctx
        )
