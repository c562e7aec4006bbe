"""What interpretation makes: agents' events, buffers, findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allreduce_gen.diagnostics import (
    Code,
    Diagnostic,
    Location,
    Note,
    codes,
    diagnose,
)
from allreduce_gen.errors import CompileError
from allreduce_gen.ir.events import (
    Notify,
    NotifyOp,
    Origin,
    Wait,
    WaitCmp,
)
from allreduce_gen.ir.memory import Buffer, BufferKind, Region, View
from allreduce_gen.ir.trace import Agent
from allreduce_gen.spec import DType

from .recorder import Recorder, Rounds


class Machine:
    """All ranks of one call. Agents come into being when a kernel is launched.

    `windows` are the buffers passed to kernels, `allocated` the lines of all buffers,
    `scratch` the host's own tensors, `parts` the functions dispatched. `groups` has,
    for each window, the ranks that it is dispatched to: peers of it count in those.
    """

    def __init__(
        self, num_ranks: int, groups: Mapping[str, set[int]] | None = None
    ) -> None:
        self.num_ranks = num_ranks
        self.groups: dict[str, set[int]] = {}
        self._members = {
            name: tuple(sorted(ranks)) for name, ranks in (groups or {}).items()
        }
        self.scratch: dict[str, Buffer] = {}
        self.parts: dict[str, None] = {}
        self.windows: dict[str, Buffer] = {}
        self.allocated: dict[str, int] = {}
        self.agents: dict[tuple[int, int], Recorder] = {}
        self._findings: dict[tuple[str, str, int], Diagnostic] = {}
        self._launches: dict[int, list[int]] = {}
        self.rounds = Rounds()

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """What was found beside the events, once for each line."""
        return tuple(self._findings.values())

    def pass_window(self, buffer: Buffer, rank: int) -> None:
        """A dispatch to `rank` passes a window: first passes give the order."""
        self.windows.setdefault(buffer.name, buffer)
        self.groups.setdefault(buffer.name, set()).add(rank)

    @property
    def has_groups(self) -> bool:
        """Whether some window is dispatched to a part of the ranks only."""
        return any(len(ranks) != self.num_ranks for ranks in self.groups.values())

    def members(self, buffer: Buffer) -> tuple[int, ...] | range:
        """The ranks that share `buffer`, in the order in which peers count."""
        return self._members.get(buffer.name, range(self.num_ranks))

    def peer_of(self, buffer: Buffer, peer: int, rank: int, origin: Origin) -> int:
        """The rank that `peer` means to `rank` in the group of `buffer`.

        Raises CompileError AR404 where a part of the ranks shares it, and none of them
        is meant.
        """
        members = self._members.get(buffer.name)
        if members is None:
            return peer
        if not 0 <= peer < len(members):
            raise self._no_member(buffer, peer, rank, origin)
        return members[peer]

    def _no_member(
        self, buffer: Buffer, peer: int, rank: int, origin: Origin
    ) -> CompileError:
        members = self._members[buffer.name]
        group = ", ".join(str(member) for member in members)
        finding = diagnose(
            codes.AR404,
            f"rank {rank} names peer {peer} of {buffer.name}, which is passed to "
            f"{len(members)} of {self.num_ranks} ranks: {group}",
            location=Location(file=origin.file, line=origin.line, rank=rank),
            help="dispatch a kernel to every rank, `for r in pl.range("
            "pld.world_size())`, or keep peers below `pld.nranks(ctx)`",
        )
        return CompileError([finding])

    def start_launch(self, rank: int, blocks: int, origin: Origin) -> None:
        """A kernel starts on `rank`, after the one that was launched there before.

        Where one of them has several blocks, all of the first raise a slot of their
        own rank, on which all of the second wait.
        """
        before = self._launches.setdefault(rank, [])
        before.append(blocks)
        if len(before) == 1 or max(before[-2:]) == 1:
            return
        slot = _launch_slot(len(before) - 1)
        self.windows.setdefault(slot.view.buffer.name, slot.view.buffer)
        for block in range(before[-2]):
            self.recorder(rank, block).emit(
                Notify(
                    peer=rank, slot=slot, value=1, op=NotifyOp.ATOMIC_ADD, origin=origin
                )
            )
        for block in range(blocks):
            self.recorder(rank, block).emit(
                Wait(slot=slot, expected=before[-2], cmp=WaitCmp.GE, origin=origin)
            )

    def recorder(self, rank: int, block: int) -> Recorder:
        """The agent of `block` on `rank`."""
        known = self.agents.get((rank, block))
        if known is None:
            agent = Agent(rank=rank, block=block)
            known = self.agents[rank, block] = Recorder(agent)
        return known

    def find(
        self,
        code: Code,
        message: str,
        *,
        help: str,
        file: str,
        line: int,
        rank: int,
        notes: tuple[Note, ...] = (),
    ) -> None:
        """Keep a finding about the source, the first time that a line gives it."""
        self._findings.setdefault(
            (code.id, file, line),
            diagnose(
                code,
                message,
                help=help,
                location=Location(file=file, line=line, rank=rank),
                notes=notes,
            ),
        )


def _launch_slot(number: int) -> Region:
    """The slot that orders launch `number` of a rank, from 0, behind the one before."""
    buffer = Buffer(
        name=f"launch_{number}", kind=BufferKind.WINDOW, nbytes=DType.INT32.nbytes
    )
    view = View(name=buffer.name, buffer=buffer, shape=(1,), dtype=DType.INT32)
    return Region(view=view, offsets=(0,), shape=(1,))


class Frame:
    """One function's names while it runs. `rank` is -1 on the host.

    `recorder` is the agent whose kernel runs, or None outside kernels. `values` also
    has the extents of dynamic dimensions, by their Dynamic.
    """

    __slots__ = ("blocks", "machine", "rank", "recorder", "values")

    def __init__(
        self,
        machine: Machine,
        values: dict[Any, Any],
        *,
        rank: int = -1,
        recorder: Recorder | None = None,
    ) -> None:
        self.machine = machine
        self.values = values
        self.rank = rank
        self.blocks = 1
        self.recorder = recorder

    def count_rounds(self, count: int, file: str, line: int) -> None:
        """A loop is about to unroll. Raises CompileError AR703 where it is too long."""
        (self.recorder or self.machine).rounds.add(count, file, line)

    @property
    def agent(self) -> Recorder:
        """The agent whose kernel runs; operations outside kernels are refused."""
        assert self.recorder is not None
        return self.recorder
