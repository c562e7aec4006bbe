"""One agent's way to memory: its stores at once, or held back until a notify."""

from __future__ import annotations

from allreduce_gen.engines.base import Array
from allreduce_gen.engines.elements import decode
from allreduce_gen.ir.events import NotifyOp
from allreduce_gen.ir.memory import Region, overlaps, region_bytes

from .memory import Instance, Memory, Write, apply, box


class StoreQueue:
    """Stores of one agent that its peers do not see yet.

    The memory model promises that what stands before a notify is visible to whoever
    the notify lets go, and promises nothing sooner. The agent itself always sees its
    own stores.
    """

    def __init__(self, memory: Memory, *, holds_back: bool) -> None:
        self._memory = memory
        self._holds_back = holds_back
        self._held: list[Write] = []

    def write(self, write: Write) -> None:
        if self._holds_back:
            self._held.append(write)
        else:
            self._memory.write(write)

    def read(self, instance: Instance, region: Region) -> Array:
        """The numbers that the agent sees in `region`, in memory of their own."""
        memory = self._memory.bytes_of(instance)
        own = self._held_over(instance, region) if self._held else []
        if own:
            memory = memory.copy()
            for write in own:
                apply(write, memory)
        return decode(box(memory, region), region.view.dtype)

    def _held_over(self, instance: Instance, region: Region) -> list[Write]:
        touched = region_bytes(region)
        return [
            write
            for write in self._held
            if write.instance == instance
            and overlaps(region_bytes(write.region), touched)
        ]

    def notify(
        self, instance: Instance, slot: Region, value: int, op: NotifyOp
    ) -> None:
        """Publish, then change the one cell of `slot`."""
        self.publish()
        self._memory.notify(instance, slot, value, op)

    def poll(self, instance: Instance, slot: Region) -> int:
        """The value that the agent sees in the one cell of `slot`."""
        return int(self.read(instance, slot).item())

    def publish(self) -> None:
        """Let everybody see all stores so far."""
        for write in self._held:
            self._memory.write(write)
        self._held.clear()
