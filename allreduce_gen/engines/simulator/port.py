"""How a machine reaches memory: its own, its peers', and their signals."""

from __future__ import annotations

from typing import Protocol

from allreduce_gen.engines.base import Array
from allreduce_gen.ir.events import NotifyOp
from allreduce_gen.ir.memory import Region

from .memory import Instance, Write


class Port(Protocol):
    """One agent's way to all memory of a run.

    What was written before a notify is visible to whoever the notify lets go; nothing
    is promised sooner. The agent itself always sees its own writes.
    """

    def read(self, instance: Instance, region: Region) -> Array:
        """The numbers that the agent sees in `region`, in memory of their own."""
        ...

    def write(self, write: Write) -> None: ...

    def notify(
        self, instance: Instance, slot: Region, value: int, op: NotifyOp
    ) -> None:
        """Publish, then change the one cell of `slot`; it wraps as INT32 does."""
        ...

    def poll(self, instance: Instance, slot: Region) -> int:
        """The value of the one cell of `slot`."""
        ...

    def publish(self) -> None:
        """Let everybody see all stores so far."""
        ...
