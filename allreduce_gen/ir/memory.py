"""Memory that events touch: buffers, typed views of them, regions of a view, bytes.

A region is a box of a view. Two regions are compared as bytes of their buffer, for two
views may alias one buffer.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from allreduce_gen.spec import DType


class BufferKind(enum.Enum):
    """Who owns the memory, and what it holds at the start of a call."""

    INPUT = "input"  # host memory, filled by the caller
    OUTPUT = "output"  # host memory, contents unknown
    INOUT = "inout"  # host memory, filled by the caller and written
    SCRATCH = "scratch"  # host memory that the program makes, contents unknown
    WINDOW = "window"  # one instance a rank, readable by peers, zeroed


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """Named memory of `nbytes` bytes.

    A window has one instance on every rank. Host memory has one instance in all; the
    ranks see different parts of it.
    """

    name: str
    kind: BufferKind
    nbytes: int

    @property
    def is_window(self) -> bool:
        return self.kind is BufferKind.WINDOW


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A buffer read as a row-major tensor of `shape`, from byte `start` on.

    `name` is what the program calls it and what messages say. A view may promise more
    than its buffer holds: that is a finding (AR503), not a failure here. `version` says
    which store has left it so, to whoever numbers stores.
    """

    name: str
    buffer: Buffer
    shape: tuple[int, ...]
    dtype: DType
    start: int = 0
    version: int = field(default=0, compare=False, repr=False)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.nbytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """The box `offsets` to `offsets + shape` of a view, in elements.

    Inside Repeat events, `strides` has one vector for each of them, outermost first:
    how far the box moves each time around.
    """

    view: View
    offsets: tuple[int, ...]
    shape: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...] = ()

    @property
    def num_elems(self) -> int:
        return math.prod(self.shape)


def format_region(region: Region) -> str:
    """`result[0, 1024:2048]`, as a programmer would write it."""
    parts = (
        str(start) if extent == 1 else f"{start}:{start + extent}"
        for start, extent in zip(region.offsets, region.shape, strict=True)
    )
    return f"{region.view.name}[{', '.join(parts)}]"


@dataclass(frozen=True, slots=True)
class ByteRuns:
    """`length` bytes from `start`, repeated along `dims`: pairs of (count, stride).

    Outermost first; what is contiguous is one run, so most regions have no dims.
    """

    start: int
    length: int
    dims: tuple[tuple[int, int], ...] = ()

    @property
    def end(self) -> int:
        """The byte after the last one."""
        return (
            self.start
            + self.length
            + sum((count - 1) * stride for count, stride in self.dims)
        )

    def runs(self) -> Iterator[tuple[int, int]]:
        """Every contiguous run as (start, end)."""
        return _runs(self.start, self.length, self.dims)


def _runs(
    start: int, length: int, dims: tuple[tuple[int, int], ...]
) -> Iterator[tuple[int, int]]:
    if not dims:
        yield start, start + length
        return
    (count, stride), inner = dims[0], dims[1:]
    for index in range(count):
        yield from _runs(start + index * stride, length, inner)


def region_bytes(region: Region) -> ByteRuns:
    """The bytes of `region` in its buffer (one round of every Repeat around it).

    A region without elements has none, wherever it is.
    """
    view = region.view
    if not region.num_elems:
        return ByteRuns(view.start, 0)
    stride = view.dtype.nbytes
    start, length = view.start, stride
    dims: list[tuple[int, int]] = []
    for extent, offset, dim in zip(
        reversed(region.shape),
        reversed(region.offsets),
        reversed(view.shape),
        strict=True,
    ):
        start += offset * stride
        if not dims and length == stride:
            length *= extent
        elif extent != 1:
            dims.append((extent, stride))
        stride *= dim
    return ByteRuns(start, length, tuple(reversed(dims)))


def overlaps(left: ByteRuns, right: ByteRuns) -> bool:
    """Whether any byte is in both."""
    if left.end <= right.start or right.end <= left.start:
        return False
    if not left.length or not right.length:
        return False
    if not left.dims and not right.dims:
        return True
    few, many = sorted((left, right), key=_num_runs)
    return any(_touches(many, start, end) for start, end in few.runs())


def _num_runs(runs: ByteRuns) -> int:
    return math.prod(count for count, _ in runs.dims)


def _touches(runs: ByteRuns, start: int, end: int) -> bool:
    """Whether `runs` has a byte in [start, end)."""
    if end <= runs.start or runs.end <= start:
        return False
    if not runs.dims:
        return True
    (count, stride), inner = runs.dims[0], runs.dims[1:]
    reach = ByteRuns(runs.start, runs.length, inner).end - runs.start
    first = max(0, (start - runs.start - reach) // stride)
    last = min(count - 1, (end - 1 - runs.start) // stride)
    return any(
        _touches(ByteRuns(runs.start + index * stride, runs.length, inner), start, end)
        for index in range(first, last + 1)
    )
