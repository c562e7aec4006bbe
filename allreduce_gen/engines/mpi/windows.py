"""Windows of a run as MPI windows of raw bytes, one a buffer, under passive target."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy as np
from mpi4py import MPI

from allreduce_gen.engines.base import Bytes
from allreduce_gen.ir.memory import Buffer

_CELL_BYTES = 4


class Windows:
    """This rank's instance of every window, and the way to its peers' instances.

    Making and freeing them is collective. Writes to a peer are complete at `flush`,
    reads at once.
    """

    def __init__(self, comm: MPI.Intracomm, buffers: Iterable[Buffer]) -> None:
        self.rank = comm.rank
        self._comm = comm
        self._windows = {
            one.name: MPI.Win.Allocate(one.nbytes, 1, comm=comm) for one in buffers
        }
        self._own = {
            name: np.frombuffer(cast(Any, window.tomemory()), np.uint8)
            for name, window in self._windows.items()
        }
        self._dirty: set[tuple[str, int]] = set()
        for window in self._windows.values():
            window.Lock_all()
        for content in self._own.values():
            content[...] = 0
        self.synchronise()
        comm.Barrier()

    def own(self, name: str) -> Bytes:
        """The memory of this rank's own window."""
        return self._own[name]

    def get(self, name: str, owner: int, start: int, into: Bytes) -> None:
        """Read `into.size` bytes of the window `name` of `owner`."""
        self.flush(name, owner)
        window = self._windows[name]
        window.Get([into, into.size, MPI.BYTE], owner, (start, into.size, MPI.BYTE))
        window.Flush(owner)

    def put(self, name: str, owner: int, start: int, content: Bytes) -> None:
        """Write `content`, which must stay as it is until `flush`."""
        self._windows[name].Put(
            [content, content.size, MPI.BYTE],
            owner,
            (start, content.size, MPI.BYTE),
        )
        self._dirty.add((name, owner))

    def add(
        self, name: str, owner: int, start: int, content: Bytes, kind: MPI.Datatype
    ) -> None:
        """Add the elements in `content` to those in the window, each atomically."""
        count = content.size // kind.Get_size()
        window = self._windows[name]
        window.Accumulate(
            [content, count, kind], owner, (start, count, kind), op=MPI.SUM
        )
        self._dirty.add((name, owner))

    def change(self, name: str, owner: int, start: int, value: int, op: MPI.Op) -> None:
        """Change the INT32 cell at byte `start` of `owner`, atomically and at once."""
        cell = np.asarray(value & 0xFFFFFFFF, np.uint32).view(np.int32)
        window = self._windows[name]
        window.Accumulate([cell, 1, MPI.INT32_T], owner, (start, 1, MPI.INT32_T), op=op)
        window.Flush(owner)

    def fetch(self, name: str, owner: int, start: int) -> int:
        """The INT32 cell at byte `start` of `owner`, read atomically."""
        cell = np.zeros(1, np.int32)
        window = self._windows[name]
        window.Fetch_and_op(
            [np.zeros(1, np.int32), MPI.INT32_T],
            [cell, MPI.INT32_T],
            owner,
            start,
            op=MPI.NO_OP,
        )
        window.Flush(owner)
        return int(cell[0])

    def swap(self, name: str, owner: int, start: int, seen: int, new: int) -> int:
        """Put `new` in the INT32 cell where it holds `seen`; what it held before."""
        before = np.zeros(1, np.int32)
        window = self._windows[name]
        window.Compare_and_swap(
            [np.full(1, new, np.int32), MPI.INT32_T],
            [np.full(1, seen, np.int32), MPI.INT32_T],
            [before, MPI.INT32_T],
            owner,
            start,
        )
        window.Flush(owner)
        return int(before[0])

    def flush(self, name: str, owner: int) -> None:
        """Complete the writes to the window `name` of `owner`."""
        if (name, owner) in self._dirty:
            self._windows[name].Flush(owner)
            self._dirty.discard((name, owner))

    def flush_all(self) -> None:
        """Complete all writes, those to this rank's own memory too."""
        for name, owner in tuple(self._dirty):
            self.flush(name, owner)
        self.synchronise()

    def synchronise(self) -> None:
        """Let this rank's loads see what peers wrote, and peers what it stored."""
        for window in self._windows.values():
            window.Sync()

    def progress(self) -> None:
        """Let MPI work on what peers ask of this rank."""
        self._comm.Iprobe()

    def free(self) -> None:
        """Free the windows, once every rank has come here and needs them no more."""
        self._own.clear()
        for window in self._windows.values():
            window.Unlock_all()
            window.Free()


def cell_start(index: int) -> int:
    """The first byte of INT32 cell `index`."""
    return index * _CELL_BYTES
