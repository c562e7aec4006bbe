"""What the values of flags look like: sizes, shapes, groups, words of a list."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from allreduce_gen.spec import DType
from allreduce_gen.targets import PLATFORMS

DEFAULT_PLATFORM = "a2a3sim"
"""What kernels are made for unless --platform says so."""

_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


PICTURES = (".png", ".svg", ".pdf")
"""Suffixes of the pictures that --plot writes."""


def parse_name(text: str) -> str:
    """The name of a file, or `-`."""
    if not text.strip():
        raise click.BadParameter("a file needs a name; this one is empty")
    return text


def parse_path(text: str) -> Path:
    """The path of a file."""
    return Path(parse_name(text))


def parse_picture(text: str) -> Path:
    """The path of a picture: PNG, SVG or PDF."""
    path = parse_path(text)
    if path.suffix not in PICTURES:
        raise click.BadParameter(f"{text!r} does not end in {', '.join(PICTURES)}")
    return path


def parse_world_sizes(text: str) -> tuple[int, ...]:
    """Several numbers of ranks: `2,4,8`."""
    if re.fullmatch(r"[+-]?\d+(,[+-]?\d+)*", text) is None:
        raise click.BadParameter(f"{text!r} is no list of numbers of ranks like 2,4,8")
    return tuple(map(int, text.split(",")))


def parse_size(text: str) -> int:
    """A number of elements: `4096`, `64K`, `1M`, `1G` (1024-based; also `1k`)."""
    parsed = re.fullmatch(r"([+-]?\d+)([KMG]?)", text.strip(), re.IGNORECASE)
    if parsed is None:
        raise click.BadParameter(
            f"{text!r} is no number of elements like 4096, 64K, 1M or 1G"
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
    """One word of a list; hyphens and underscores are the same."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        known = {one.replace("-", "_"): one for one in self.choices}
        word = known.get(str(value).replace("-", "_"), value)
        return super().convert(word, param, ctx)


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
