"""Inputs and outputs: each rank's part of the host's memory."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from allreduce_gen.ir.memory import Buffer, BufferKind, View
from allreduce_gen.ir.trace import Trace
from allreduce_gen.spec import DType

from .analysis import Analysis

_INPUTS = (BufferKind.INPUT, BufferKind.INOUT)
_OUTPUTS = (BufferKind.OUTPUT, BufferKind.INOUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """A tensor that each rank has a part of: `size` elements, `start` per rank.

    Rank r's part starts at element `start + r * stride` of the buffer.
    """

    name: str
    buffer: Buffer
    dtype: DType
    start: int
    stride: int
    size: int

    @property
    def is_input(self) -> bool:
        return self.buffer.kind in _INPUTS

    @property
    def is_output(self) -> bool:
        return self.buffer.kind in _OUTPUTS

    @property
    def base(self) -> str:
        """The name of the buffer, the same in all calls."""
        return self.buffer.name.partition("@")[0]

    @property
    def call(self) -> str:
        """What tells the buffers of one call from those of others."""
        return self.buffer.name.partition("@")[2]

    def first(self, rank: int) -> int:
        """The first element of the part of `rank`."""
        return self.start + rank * self.stride


def find_operands(analysis: Analysis) -> tuple[Operand, ...]:
    """The inputs and outputs of all ranks, in the order of the trace's buffers."""
    num_ranks = analysis.trace.num_ranks
    found: dict[tuple[str, int, int, DType], Operand] = {}
    for view in _host_views(analysis):
        one = _operand(view, num_ranks)
        if one is not None and (one.is_input or one.is_output):
            key = (one.buffer.name, one.start, one.size, one.dtype)
            found.setdefault(key, one)
    seen = {view.buffer.name for view in _host_views(analysis)}
    dtype = next((one.dtype for one in found.values()), DType.FP32)
    operands = [*found.values(), *_untouched(analysis.trace, seen, dtype)]
    order = [buffer.name for buffer in analysis.trace.buffers]
    operands.sort(key=lambda one: (order.index(one.buffer.name), one.start, one.size))
    return tuple(operands)


def _untouched(trace: Trace, seen: set[str], dtype: DType) -> Iterator[Operand]:
    """Inputs and outputs that no rank touches; their type is that of the others."""
    for buffer in trace.buffers:
        if buffer.name in seen or buffer.kind is BufferKind.INOUT:
            continue
        size, left = divmod(buffer.nbytes, trace.num_ranks * dtype.nbytes)
        one = Operand(
            name=buffer.name,
            buffer=buffer,
            dtype=dtype,
            start=0,
            stride=size,
            size=size,
        )
        if (one.is_input or one.is_output) and not left:
            yield one


def _host_views(analysis: Analysis) -> Iterator[View]:
    for mine in analysis.accesses:
        seen: set[int] = set()
        for access in mine.values():
            view = access.region.view
            if access.rank is None and id(view) not in seen:
                seen.add(id(view))
                yield view


def _operand(view: View, num_ranks: int) -> Operand | None:
    """The operand that `view` is some rank's part of; None where it is no such.

    Part r is the host's for rank r, whichever rank it is handed to.
    """
    part, left = divmod(view.buffer.nbytes, num_ranks)
    if left or not part:
        return None
    start, size = view.start % part, view.dtype.nbytes
    if part % size or start % size or start + view.nbytes > part:
        return None
    return Operand(
        name=view.name,
        buffer=view.buffer,
        dtype=view.dtype,
        start=start // size,
        stride=part // size,
        size=view.nbytes // size,
    )


class Owner(NamedTuple):
    """One rank's part of an input, which is operand `number`, from element `start`."""

    start: int
    number: int
    operand: Operand
    rank: int


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of all ranks of the inputs in one buffer, by their first elements."""

    starts: tuple[int, ...]
    owners: tuple[Owner, ...]

    def find(self, element: int) -> Owner | None:
        """Whose element it is."""
        number = bisect.bisect_right(self.starts, element) - 1
        if number < 0:
            return None
        owner = self.owners[number]
        return owner if element < owner.start + owner.operand.size else None

    def cuts(self, start: int, stop: int) -> Iterator[int]:
        """Where elements `start` to `stop` change their owner."""
        first = bisect.bisect_right(self.starts, start)
        yield from self.starts[first : bisect.bisect_left(self.starts, stop)]


def find_parts(operands: tuple[Operand, ...], num_ranks: int) -> dict[str, Parts]:
    """The inputs among `operands`, by buffer."""
    found: dict[str, list[Owner]] = {}
    for number, operand in enumerate(operands):
        if operand.is_input:
            found.setdefault(operand.buffer.name, []).extend(
                Owner(operand.first(rank), number, operand, rank)
                for rank in range(num_ranks)
            )
    for owners in found.values():
        owners.sort(key=lambda owner: owner.start)
    return {
        name: Parts(tuple(owner.start for owner in owners), tuple(owners))
        for name, owners in found.items()
    }
