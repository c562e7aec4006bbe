"""Barriers, and the signal rows that they use.

Every barrier round has a row of its own: slots only ever count up, so a row that has
let one round pass would let the next one pass at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from allreduce_gen.ir.expr import MY_RANK, NUM_RANKS, Const, Name
from allreduce_gen.ir.plan import Constant, Edge, EdgeKind
from allreduce_gen.ir.steps import NotifyPeers, PeerLoop, Phase, WaitForPeers

_AROUND = (MY_RANK + Name("step")) % NUM_RANKS


@dataclass(frozen=True, slots=True, kw_only=True)
class Barrier:
    """One barrier round: its two steps, and the edge between ranks."""

    notify: NotifyPeers
    wait: WaitForPeers

    @property
    def steps(self) -> tuple[NotifyPeers, WaitForPeers]:
        return self.notify, self.wait

    @property
    def edge(self) -> Edge:
        assert isinstance(self.notify.row, Name)
        return Edge(
            source=self.notify.name,
            target=self.wait.name,
            kind=EdgeKind.SIGNAL,
            carrier=self.notify.row.name,
        )


def allocate_rows(*names: str) -> tuple[Constant, ...]:
    """One signal row for each barrier round, in the order of the rounds."""
    return tuple(
        Constant(name=f"ROW_{name.upper()}", value=row)
        for row, name in enumerate(names)
    )


def other_ranks(name: str = "peer") -> PeerLoop:
    """Every other rank, from the next one around.

    No two ranks visit the same peer at the same step, and there is no branch.
    """
    return PeerLoop(name=name, peer=_AROUND, start=Const(1), stop=NUM_RANKS)


def all_ranks(name: str = "peer") -> PeerLoop:
    """Every rank, from this one around."""
    return PeerLoop(name=name, peer=_AROUND, start=Const(0), stop=NUM_RANKS)


def all_peers_barrier(name: str, row: Constant) -> Barrier:
    """Everybody notifies everybody, then waits for everybody."""
    common = {"phase": Phase.BARRIER, "peers": other_ranks(), "row": Name(row.name)}
    return Barrier(
        notify=NotifyPeers(name=f"notify_{name}", **common),  # type: ignore[arg-type]
        wait=WaitForPeers(name=f"wait_{name}", **common),  # type: ignore[arg-type]
    )
