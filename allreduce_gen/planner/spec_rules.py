"""Which specs can be planned: every AR1xx finding but those of single options."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from allreduce_gen.diagnostics import Diagnostic, codes, diagnose
from allreduce_gen.spec import Accumulate, AllReduceSpec
from allreduce_gen.targets import (
    ALIGNMENT_BYTES,
    MAX_RANKS,
    MAX_SIZE,
    PLATFORMS,
    Target,
    accumulator,
    aligned_elems,
)

from .option_rules import check_options
from .tile_limit import check_tile_limit

_MAX_BECAUSE = 72
"""Characters of a reason that fit on one line of a kernel's docstring."""


def check_spec(spec: AllReduceSpec) -> Iterator[Diagnostic]:
    """All that keeps `spec` from being planned; nothing where it can be."""
    findings = tuple(_check_fields(spec))
    yield from findings
    if not findings:
        yield from check_tile_limit(spec)


def _check_fields(spec: AllReduceSpec) -> Iterator[Diagnostic]:
    yield from _check_ranks(spec)
    yield from _check_size(spec)
    target = PLATFORMS.get(spec.platform)
    if target is None:
        yield diagnose(
            codes.AR107,
            f"unknown platform {spec.platform!r}",
            help=f"use one of {', '.join(PLATFORMS)}",
        )
        return
    yield from _check_arithmetic(spec, target)
    yield from _check_tile(spec)
    yield from check_options(spec)
    yield from _check_because(spec)


def _check_ranks(spec: AllReduceSpec) -> Iterator[Diagnostic]:
    if spec.num_ranks < 1:
        yield diagnose(
            codes.AR101,
            f"{spec.num_ranks} ranks; an all-reduce needs at least 1",
            help=f"give --ranks from 1 to {MAX_RANKS}",
        )
    if spec.num_ranks > MAX_RANKS:
        yield diagnose(
            codes.AR106,
            f"{spec.num_ranks} ranks; a communication context holds {MAX_RANKS}",
            help=f"give --ranks from 1 to {MAX_RANKS}",
        )


def _check_size(spec: AllReduceSpec) -> Iterator[Diagnostic]:
    if spec.size < 1:
        yield diagnose(
            codes.AR102,
            f"{spec.size} elements; each rank contributes at least 1",
            help="give --size 1 or more",
        )
    elif spec.size > MAX_SIZE:
        yield diagnose(
            codes.AR102,
            f"{spec.size} elements; plans are made for up to {MAX_SIZE} (1024G)",
            help="reduce the vector in parts of --size 1024G at most",
        )
    elif spec.shape is not None and math.prod(spec.shape) != spec.size:
        yield diagnose(
            codes.AR102,
            f"a {'x'.join(map(str, spec.shape))} tensor has {math.prod(spec.shape)} "
            f"elements, not {spec.size}",
            help="give a shape and a size that agree, or the shape alone",
        )
    elif spec.strict_divisible and spec.num_ranks > 1:
        yield from _check_division(spec)


def _check_division(spec: AllReduceSpec) -> Iterator[Diagnostic]:
    """Chunks are equal, and whole 32-byte blocks; one rank divides nothing."""
    step = spec.num_ranks * aligned_elems(spec.dtype)
    if spec.size % step == 0:
        return
    below = spec.size // step * step
    near = [size for size in (below, below + step) if size > 0]
    yield diagnose(
        codes.AR103,
        _why_not_divisible(spec),
        help=f"use --size {' or '.join(map(str, near))}, the nearest that "
        f"{'divide' if len(near) > 1 else 'divides'} into chunks of whole "
        "32-byte blocks, or leave out --strict-divisible",
    )


def _why_not_divisible(spec: AllReduceSpec) -> str:
    chunk, rest = divmod(spec.size, spec.num_ranks)
    if rest:
        return (
            f"{spec.size} elements do not divide among {spec.num_ranks} ranks: "
            f"{rest} left over"
        )
    return (
        f"{spec.size} elements over {spec.num_ranks} ranks: a chunk of {chunk} is "
        f"{chunk * spec.dtype.nbytes} bytes, needs a multiple of {ALIGNMENT_BYTES}"
    )


def _check_arithmetic(spec: AllReduceSpec, target: Target) -> Iterator[Diagnostic]:
    refused = f"{spec.platform} cannot {spec.op.value} {spec.dtype.value}"
    if not target.ops_for(spec.dtype):
        allowed = target.dtypes_for(spec.op)
        yield diagnose(
            codes.AR104,
            refused,
            help=f"use one of {', '.join(dtype.value for dtype in allowed)}",
        )
    elif spec.dtype not in target.dtypes_for(spec.op):
        ops = ", ".join(op.value for op in target.ops_for(spec.dtype))
        yield diagnose(
            codes.AR105, refused, help=f"{spec.dtype.value} can be reduced by {ops}"
        )
    elif not target.combines(spec.op, accumulator(spec)):
        yield diagnose(
            codes.AR104,
            f"{refused} in its own type",
            help=f"use --accumulate {Accumulate.WIDE.value}, which goes through fp32",
        )


def _check_tile(spec: AllReduceSpec) -> Iterator[Diagnostic]:
    if spec.tile is not None and spec.tile < 1:
        yield diagnose(
            codes.AR107,
            f"a tile of {spec.tile} elements; it holds at least 1",
            help="give --tile a positive number of elements, or leave it out",
        )
    elif spec.tile is not None and spec.tile % aligned_elems(spec.dtype):
        block = aligned_elems(spec.dtype)
        yield diagnose(
            codes.AR107,
            f"a tile of {spec.tile} {spec.dtype.value} elements, which are no whole "
            "32-byte blocks",
            help=f"give --tile a multiple of {block}",
        )


def _check_because(spec: AllReduceSpec) -> Iterator[Diagnostic]:
    """The reason stands in a docstring, inside a command line for a shell."""
    if len(spec.because) > _MAX_BECAUSE or re.search(r'[^ -~]|["\\$`!]', spec.because):
        yield diagnose(
            codes.AR107,
            f"the reason {spec.because!r} does not fit into a docstring",
            help=f"give --because at most {_MAX_BECAUSE} printable ASCII characters, "
            'without " $ ` ! and backslashes',
        )
