"""Barriers that leave out one rank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from allreduce_gen.ir.events import Notify

from .analysis import Analysis
from .program import Point
from .replay import Blocked
from .slots import Slot, slot_byte

FEWEST_RANKS = 3
"""With fewer, a loop over all peers but one is no loop."""


class MissedPeer(NamedTuple):
    """A loop of `rank` that deals with every peer but `peer`; `point` is in it."""

    rank: int
    peer: int
    point: Point


def missed_peers(
    analysis: Analysis, blocked: Sequence[Blocked]
) -> tuple[MissedPeer, ...]:
    """Ranks that notify the slot of a blocked wait on all peers but the blocked one."""
    if analysis.trace.num_ranks < FEWEST_RANKS:
        return ()
    loops = _notified(analysis)
    return tuple(
        missed
        for one in blocked
        for missed in _missing(analysis, analysis.sync.slots[one.slot], loops)
    )


_Loops = dict[tuple[int, str, int], dict[int, Point]]


def _notified(analysis: Analysis) -> _Loops:
    """For each rank and place of a slot: the peers notified there, and where first."""
    loops: _Loops = {}
    program = analysis.program
    for number, one in enumerate(program.agents):
        for at, event in enumerate(one.events):
            if isinstance(event, Notify):
                place = (event.slot.view.buffer.name, slot_byte(event.slot))
                peers = loops.setdefault((one.agent.rank, *place), {})
                peers.setdefault(event.peer, Point(number, at))
    return loops


def _missing(analysis: Analysis, slot: Slot, loops: _Loops) -> Iterator[MissedPeer]:
    place = (slot.region.view.buffer.name, slot_byte(slot.region))
    everyone = set(range(analysis.trace.num_ranks))
    for (rank, *where), peers in loops.items():
        is_all_but_one = set(peers) - {rank} == everyone - {rank, slot.rank}
        if tuple(where) == place and rank != slot.rank and is_all_but_one:
            yield MissedPeer(rank, slot.rank, min(peers.values()))
