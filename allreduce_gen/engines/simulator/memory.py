"""All memory of a run: bytes, one array for each instance of a buffer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from allreduce_gen.engines.base import Array, Bytes
from allreduce_gen.engines.elements import decode, encode, memory_dtype
from allreduce_gen.ir.events import NotifyOp, TileOp
from allreduce_gen.ir.memory import Buffer, Region

from .arithmetic import combine

Instance: TypeAlias = tuple[str, int | None]
"""A buffer's name, and the rank whose window it is; None for host memory."""


def instance_of(buffer: Buffer, rank: int) -> Instance:
    """What `rank` means by `buffer`: its own window, or the one host memory."""
    return buffer.name, rank if buffer.is_window else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """Values of a tile on their way to a region of one instance."""

    instance: Instance
    region: Region
    values: Array
    atomic: bool


class Memory:
    """Instances by name and rank, and which ranks' windows have changed."""

    def __init__(self, instances: dict[Instance, Bytes]) -> None:
        self._instances = instances
        self._changed: set[int] = set()

    def bytes_of(self, instance: Instance) -> Bytes:
        return self._instances[instance]

    def write(self, write: Write) -> None:
        apply(write, self._instances[write.instance])
        self._mark(write.instance)

    def notify(
        self, instance: Instance, slot: Region, value: int, op: NotifyOp
    ) -> None:
        """Change the one cell of `slot`; it wraps as INT32 does."""
        cell = box(self._instances[instance], slot)
        raised = value if op is NotifyOp.SET else int(cell.item()) + value
        cell[...] = np.asarray(raised).astype(cell.dtype)
        self._mark(instance)

    def take_changed(self) -> set[int]:
        """Ranks whose windows were written since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def _mark(self, instance: Instance) -> None:
        _, rank = instance
        if rank is not None:
            self._changed.add(rank)


def box(memory: Bytes, region: Region) -> Array:
    """The elements of `region` where they lie in `memory`; nothing is copied."""
    view, dtype = region.view, memory_dtype(region.view.dtype)
    strides, stride = [], dtype.itemsize
    for extent in reversed(view.shape):
        strides.append(stride)
        stride *= extent
    strides.reverse()
    first = sum(at * step for at, step in zip(region.offsets, strides, strict=True))
    if not region.num_elems:
        return np.empty(region.shape, dtype)
    return np.ndarray(
        region.shape, dtype, memory.data, offset=view.start + first, strides=strides
    )


def apply(write: Write, memory: Bytes) -> None:
    """Put `write` into `memory`; an atomic one adds to what is there."""
    target, dtype = box(memory, write.region), write.region.view.dtype
    values = write.values
    if write.atomic:
        values = combine(TileOp.ADD, decode(target, dtype), values, dtype)
    target[...] = encode(values, dtype)
