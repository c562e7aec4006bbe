"""An agent's on-chip side: tiles, and the events that make or move them."""

from __future__ import annotations

import math
from collections import defaultdict

from allreduce_gen.engines.base import Array
from allreduce_gen.engines.elements import decode, memory_dtype, poison
from allreduce_gen.ir.events import (
    Cast,
    Combine,
    Event,
    Fill,
    Load,
    RemoteLoad,
    RemoteStore,
    Reshape,
    Scale,
    Store,
    Tile,
)
from allreduce_gen.ir.memory import Region
from allreduce_gen.ir.widen import tile_defined, tiles_used

from .arithmetic import combine, scalar_of
from .casts import cast
from .memory import Write, instance_of
from .port import Port


class VectorUnit:
    """Tiles by id. An array is never changed once it is made, so that it may be shared.

    A tile is let go after the last event that names it.
    """

    def __init__(self, rank: int, events: tuple[Event, ...], port: Port) -> None:
        self._rank = rank
        self._port = port
        self._tiles: dict[int, Array] = {}
        self._last_uses = _last_uses(events)

    def execute(self, index: int, event: Event) -> None:
        """Run `event`, a data event and the agent's event number `index`."""
        match event:
            case Store(tile=tile, region=region, atomic=atomic):
                self._store(tile, self._rank, region, atomic)
            case RemoteStore(tile=tile, peer=peer, region=region, atomic=atomic):
                self._store(tile, peer, region, atomic)
            case _:
                self._define(event)
        for tile_id in self._last_uses.get(index, ()):
            del self._tiles[tile_id]

    def _define(self, event: Event) -> None:
        tile = tile_defined(event)
        assert tile is not None, f"{event} makes no tile"
        match event:
            case Load(region=region):
                values = self._load(tile, self._rank, region)
            case RemoteLoad(peer=peer, region=region):
                values = self._load(tile, peer, region)
            case Combine(op=op, left=left, right=right):
                values = combine(op, self._of(left), self._of(right), tile.dtype)
            case Scale(op=op, source=source, scalar=scalar):
                operand = scalar_of(scalar, tile.dtype)
                values = combine(op, self._of(source), operand, tile.dtype)
            case Cast(source=source, mode=mode):
                values = cast(self._of(source), source.dtype, tile.dtype, mode)
            case Reshape(source=source):
                values = self._of(source).reshape(tile.shape)
            case Fill(value=value):
                values = _poison_tile(tile)
                if value is not None:
                    values[...] = scalar_of(value, tile.dtype)
            case _:
                raise AssertionError(f"{event} is no data event")
        self._tiles[tile.id] = values

    def _of(self, tile: Tile) -> Array:
        return self._tiles[tile.id]

    def _load(self, tile: Tile, owner: int, region: Region) -> Array:
        instance = instance_of(region.view.buffer, owner)
        values = self._port.read(instance, region).reshape(tile.valid)
        if not tile.is_cut:
            return values
        whole = _poison_tile(tile)
        whole[_valid(tile)] = values
        return whole

    def _store(self, tile: Tile, owner: int, region: Region, atomic: bool) -> None:
        self._port.write(
            Write(
                instance=instance_of(region.view.buffer, owner),
                region=region,
                values=self._of(tile)[_valid(tile)].reshape(region.shape),
                atomic=atomic,
            )
        )


def _valid(tile: Tile) -> tuple[slice, ...]:
    return tuple(slice(extent) for extent in tile.valid)


def _poison_tile(tile: Tile) -> Array:
    stored = memory_dtype(tile.dtype)
    nbytes = math.prod(tile.shape) * stored.itemsize
    return decode(poison(nbytes).view(stored), tile.dtype).reshape(tile.shape)


def _last_uses(events: tuple[Event, ...]) -> dict[int, list[int]]:
    """The tiles that no event names after the event of that index."""
    last: dict[int, int] = {}
    for index, event in enumerate(events):
        made = tile_defined(event)
        for tile in (*tiles_used(event), *(() if made is None else (made,))):
            last[tile.id] = index
    ends: defaultdict[int, list[int]] = defaultdict(list)
    for tile_id, index in last.items():
        ends[index].append(tile_id)
    return ends
