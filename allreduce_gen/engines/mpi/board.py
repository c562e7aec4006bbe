"""Where blocked ranks say so, and how they find out that all of them are.

A cell for each agent, in a window of rank 0: 0 while it runs, k + 1 while it stands
before its event k, -1 once it has ended. Nothing can move any more where every cell is
set, every awaited slot has been read and lets nobody go, and the cells are still the
same afterwards: an agent clears its cell before it goes on, and none stands before the
same event twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from mpi4py import MPI

from allreduce_gen.engines.simulator.machine import lets_go
from allreduce_gen.ir.events import Wait
from allreduce_gen.ir.memory import Buffer, BufferKind, region_bytes
from allreduce_gen.ir.trace import Agent

from .windows import Windows, cell_start
from .work import Lookup

_RUNNING, _ENDED = 0, -1
_HOME = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """An agent that stands before a wait, and what its slot holds."""

    agent: Agent
    index: int
    wait: Wait
    seen: int

    def blocked_at(self) -> tuple[int, Wait, int]:
        return self.index, self.wait, self.seen


def board_buffer(num_agents: int) -> Buffer:
    """The window that `Board` needs: a cell for each agent, and one to claim."""
    nbytes = cell_start(num_agents + 1)
    return Buffer(name="<board>", kind=BufferKind.WINDOW, nbytes=nbytes)


class Board:
    """The cells of all `agents`, as one rank sees and changes them."""

    def __init__(
        self, windows: Windows, agents: Sequence[Agent], lookup: Lookup
    ) -> None:
        self._windows = windows
        self._name = board_buffer(len(agents)).name
        self._agents = agents
        self._lookup = lookup
        self._shown: dict[int, int] = {}

    @property
    def num_agents(self) -> int:
        return len(self._agents)

    def show(self, agent: int, *, blocked_at: int | None) -> None:
        """Say that agent number `agent` stands before an event, or has ended."""
        self._put(agent, _ENDED if blocked_at is None else blocked_at + 1)

    def clear(self, agent: int) -> None:
        """Say that the agent runs. To be called before it does."""
        self._put(agent, _RUNNING)

    def _put(self, agent: int, value: int) -> None:
        if self._shown.get(agent, _RUNNING) != value:
            self._windows.change(
                self._name, _HOME, cell_start(agent), value, MPI.REPLACE
            )
            self._shown[agent] = value

    def find_deadlock(self) -> list[Standing] | None:
        """Every blocked agent where none can move any more, else None."""
        cells = self._read()
        if _RUNNING in cells:
            return None
        standing = [
            self._look(at, cell - 1) for at, cell in enumerate(cells) if cell != _ENDED
        ]
        if any(lets_go(one.wait, one.seen) for one in standing):
            return None
        return standing if standing and self._read() == cells else None

    def claim(self) -> bool:
        """Whether this rank is the first to say what was found."""
        cell = cell_start(len(self._agents))
        return self._windows.swap(self._name, _HOME, cell, 0, 1) == 0

    def _read(self) -> list[int]:
        cells = np.zeros(len(self._agents), np.int32)
        self._windows.get(self._name, _HOME, 0, cells.view(np.uint8))
        return [int(cell) for cell in cells]

    def _look(self, at: int, index: int) -> Standing:
        agent, wait = self._agents[at], self._lookup(at)[index]
        assert isinstance(wait, Wait), "agents stand before waits only"
        slot = wait.slot
        seen = self._windows.fetch(
            slot.view.buffer.name, agent.rank, region_bytes(slot).start
        )
        return Standing(agent=agent, index=index, wait=wait, seen=seen)
