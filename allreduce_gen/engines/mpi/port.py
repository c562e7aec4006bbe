"""One rank's way to memory over MPI, as the memory model of pypto promises it.

Stores to windows are complete, and visible, before the notify that follows them in the
program; reads are complete before the next event.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from mpi4py import MPI

from allreduce_gen.engines.base import Array, Bytes
from allreduce_gen.engines.elements import decode, encode, memory_dtype
from allreduce_gen.engines.simulator.arithmetic import combine
from allreduce_gen.engines.simulator.memory import Instance, Write, apply, box
from allreduce_gen.ir.events import NotifyOp, TileOp
from allreduce_gen.ir.memory import Buffer, BufferKind, Region, region_bytes
from allreduce_gen.spec import DType

from .hosted import HostMemory
from .windows import Windows

LOCKS = Buffer(name="<locks>", kind=BufferKind.WINDOW, nbytes=4)
"""A cell of every rank: 1 while somebody adds to its 16-bit floats."""

_KINDS = {
    DType.FP32: MPI.FLOAT,
    DType.INT32: MPI.INT32_T,
    DType.INT16: MPI.INT16_T,
    DType.INT8: MPI.INT8_T,
    DType.UINT32: MPI.UINT32_T,
    DType.UINT16: MPI.UINT16_T,
    DType.UINT8: MPI.UINT8_T,
    DType.INT64: MPI.INT64_T,
    DType.UINT64: MPI.UINT64_T,
}
"""The element types that MPI adds by itself."""

_NOTIFY = {NotifyOp.ATOMIC_ADD: MPI.SUM, NotifyOp.SET: MPI.REPLACE}


class RemotePort:
    """Reads and writes of the agents of one rank."""

    def __init__(self, windows: Windows, host: HostMemory) -> None:
        self._windows = windows
        self._host = host
        self._in_flight: list[Bytes] = []

    def read(self, instance: Instance, region: Region) -> Array:
        name, owner = instance
        if owner is None:
            return self._host.read(region)
        dtype = region.view.dtype
        if owner == self._windows.rank:
            self._windows.flush(name, owner)
            return decode(box(self._windows.own(name), region), dtype)
        packed = self._fetch(name, owner, region)
        return decode(packed.view(memory_dtype(dtype)), dtype).reshape(region.shape)

    def _fetch(self, name: str, owner: int, region: Region) -> Bytes:
        packed = np.empty(region.num_elems * region.view.dtype.nbytes, np.uint8)
        for start, part in _parts(region, packed):
            self._windows.get(name, owner, start, part)
        return packed

    def write(self, write: Write) -> None:
        name, owner = write.instance
        if owner is None:
            self._host.write(write)
        elif write.atomic:
            self._add(name, owner, write)
        elif owner == self._windows.rank:
            self._windows.flush(name, owner)
            apply(write, self._windows.own(name))
        else:
            self._put(name, owner, write.region, write.values)

    def _put(self, name: str, owner: int, region: Region, values: Array) -> None:
        packed = _pack(values, region.view.dtype)
        self._in_flight.append(packed)
        for start, part in _parts(region, packed):
            self._windows.put(name, owner, start, part)

    def _add(self, name: str, owner: int, write: Write) -> None:
        region, dtype = write.region, write.region.view.dtype
        kind = _KINDS.get(dtype)
        if kind is None:
            self._add_locked(name, owner, write)
            return
        packed = _pack(write.values, dtype)
        self._in_flight.append(packed)
        for start, part in _parts(region, packed):
            self._windows.add(name, owner, start, part, kind)

    def _add_locked(self, name: str, owner: int, write: Write) -> None:
        """Add 16-bit floats, which MPI has no type for, under the owner's lock."""
        region, dtype = write.region, write.region.view.dtype
        while self._windows.swap(LOCKS.name, owner, 0, 0, 1):
            self._windows.progress()
        self._windows.synchronise()
        packed = self._fetch(name, owner, region)
        before = decode(packed.view(memory_dtype(dtype)), dtype).reshape(region.shape)
        self._put(name, owner, region, combine(TileOp.ADD, before, write.values, dtype))
        self._windows.flush(name, owner)
        self._windows.change(LOCKS.name, owner, 0, 0, MPI.REPLACE)

    def notify(
        self, instance: Instance, slot: Region, value: int, op: NotifyOp
    ) -> None:
        name, owner = instance
        assert owner is not None, "a signal is a window"
        self.publish()
        start = region_bytes(slot).start
        self._windows.change(name, owner, start, value, _NOTIFY[op])

    def poll(self, instance: Instance, slot: Region) -> int:
        name, owner = instance
        assert owner is not None, "a signal is a window"
        self._windows.progress()
        seen = self._windows.fetch(name, owner, region_bytes(slot).start)
        self._windows.synchronise()
        return seen

    def publish(self) -> None:
        self._windows.flush_all()
        self._in_flight.clear()


def _pack(values: Array, dtype: DType) -> Bytes:
    """`values` as bytes in memory of their own, in the order of their region's runs."""
    stored = np.array(encode(values, dtype), memory_dtype(dtype), order="C")
    return stored.reshape(-1).view(np.uint8)


def _parts(region: Region, packed: Bytes) -> Iterator[tuple[int, Bytes]]:
    """Every contiguous run of `region`: where it starts, and its bytes in `packed`."""
    at = 0
    for start, end in region_bytes(region).runs():
        yield start, packed[at : at + end - start]
        at += end - start
