"""One rank's side of a collective: barriers of credits, and moves of flat elements.

A barrier raises this rank's slot on every peer by one and waits for as many credits
from each; the last step takes them all back from the rank's own slots, so that the
signal is zero for whoever uses it next:

    barrier 1, barrier 2, ... barrier n      peer's [me] += 1; until own [peer] >= k
    settle                                   own [peer] -= n
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from allreduce_gen.frontend.recorder import Recorder
from allreduce_gen.ir.events import (
    Combine,
    Load,
    Notify,
    NotifyOp,
    Origin,
    RemoteLoad,
    RemoteStore,
    Reshape,
    Store,
    Tile,
    TileOp,
    Wait,
    WaitCmp,
)
from allreduce_gen.ir.memory import Region, View


class Crew:
    """The ranks `members`, of which this one is number `me`, and their signal.

    `lane` is the column of this rank's block in a signal of one row a rank.
    """

    def __init__(
        self,
        agent: Recorder,
        members: Sequence[int],
        signal: View,
        origin: Origin,
        lane: int = 0,
    ) -> None:
        self._agent = agent
        self.members = members
        self.me = members.index(agent.agent.rank)
        self._signal = signal
        self._origin = origin
        self._lane = lane

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return len(self.members)

    def peers(self) -> Iterator[int]:
        """The others, by number."""
        return (peer for peer in range(self.size) if peer != self.me)

    def barrier(self, credits: int, row: int | None = None) -> None:
        """All have come here `credits` times; `row` where the signal has several."""
        for peer in self.peers():
            self._notify(peer, self._slot(self.me, row), 1)
        for peer in self.peers():
            slot = self._slot(peer, row)
            self._agent.emit(
                Wait(slot=slot, expected=credits, cmp=WaitCmp.GE, origin=self._origin)
            )

    def settle(self, credits: int, row: int | None = None) -> None:
        """Take `credits` from each of this rank's slots."""
        for peer in self.peers():
            self._notify(self.me, self._slot(peer, row), -credits)

    def _notify(self, peer: int, slot: Region, value: int) -> None:
        self._agent.emit(
            Notify(
                peer=self.members[peer],
                slot=slot,
                value=value,
                op=NotifyOp.ATOMIC_ADD,
                origin=self._origin,
            )
        )

    def _slot(self, rank: int, row: int | None) -> Region:
        at = (rank, self._lane) if row is None else (row, rank)
        dims = len(self._signal.shape)
        return Region(view=self._signal, offsets=at[:dims], shape=(1,) * dims)

    def load(self, view: View, first: int, count: int, room: int) -> Tile:
        """`count` elements of this rank's own, in a tile with room for `room`."""
        tile = self._tile(view, count, room)
        region = flat(view, first, count)
        self._agent.emit(Load(tile=tile, region=region, origin=self._origin))
        return tile

    def fetch(self, view: View, peer: int, first: int, count: int, room: int) -> Tile:
        """`count` elements of a peer's."""
        tile = self._tile(view, count, room)
        self._agent.emit(
            RemoteLoad(
                tile=tile,
                peer=self.members[peer],
                region=flat(view, first, count),
                origin=self._origin,
            )
        )
        return tile

    def combine(self, op: TileOp, left: Tile, right: Tile) -> Tile:
        """Both, element by element."""
        tile = self._agent.new_tile(left.shape, left.dtype, left.valid)
        self._agent.emit(
            Combine(tile=tile, op=op, left=left, right=right, origin=self._origin)
        )
        return tile

    def store(self, tile: Tile, view: View, first: int) -> None:
        """To this rank's own memory."""
        region = flat(view, first, prod(tile.valid))
        self._agent.emit(Store(tile=tile, region=region, origin=self._origin))

    def push(self, tile: Tile, view: View, peer: int, first: int) -> None:
        """To the memory of a peer, which may be this rank."""
        self._agent.emit(
            RemoteStore(
                tile=tile,
                peer=self.members[peer],
                region=flat(view, first, prod(tile.valid)),
                origin=self._origin,
            )
        )

    def flatten(self, tile: Tile) -> Tile:
        """A tile as one row."""
        count = prod(tile.shape)
        row = self._agent.new_tile((1, count), tile.dtype, (1, count))
        self._agent.emit(Reshape(tile=row, source=tile, origin=self._origin))
        return row

    def _tile(self, view: View, count: int, room: int) -> Tile:
        return self._agent.new_tile((1, room), view.dtype, (1, count))


def flat(view: View, first: int, count: int) -> Region:
    """`count` elements of `view`, taken as one row, from number `first` on."""
    row = replace(view, shape=(1, prod(view.shape)))
    return Region(view=row, offsets=(0, first), shape=(1, count))


def pieces(size: int, room: int) -> Iterator[tuple[int, int]]:
    """`size` elements in pieces of at most `room`: where each starts, how many."""
    return ((at, min(room, size - at)) for at in range(0, size, room))
