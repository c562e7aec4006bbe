"""What one event costs, before any waiting."""

from __future__ import annotations

import math

from allreduce_gen.ir.events import (
    Combine,
    Event,
    Load,
    Notify,
    RemoteLoad,
    RemoteStore,
    Store,
    Tile,
)
from allreduce_gen.ir.memory import Region

from .terms import Terms

FREE = Terms()


def charge(event: Event, rank: int, *, opens_round: bool) -> Terms:
    """The terms of `event` on `rank`; `opens_round` where a transfer pays the latency.

    Casts, scaling, reshaping and waiting cost nothing by themselves. A transfer from a
    rank to itself is a local copy; notifying oneself is free.
    """
    match event:
        case Load(region=region) | Store(region=region):
            return Terms(copied_bytes=_region_bytes(region))
        case RemoteLoad(region=region) | RemoteStore(region=region):
            nbytes = _region_bytes(region)
            if event.peer == rank:
                return Terms(copied_bytes=nbytes)
            return Terms(rounds=int(opens_round), remote_bytes=nbytes)
        case Combine(tile=tile):
            return Terms(reduced_bytes=_tile_bytes(tile))
        case Notify(peer=peer) if peer != rank:
            return Terms(notifies=1)
        case _:
            return FREE


def is_transfer(event: Event, rank: int) -> bool:
    """Whether `event` crosses the ports of two ranks."""
    return isinstance(event, RemoteLoad | RemoteStore) and event.peer != rank


def _region_bytes(region: Region) -> int:
    return region.num_elems * region.view.dtype.nbytes


def _tile_bytes(tile: Tile) -> int:
    return math.prod(tile.valid) * tile.dtype.nbytes
