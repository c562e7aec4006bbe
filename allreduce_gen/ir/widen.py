"""Repeat events made plain, so that checks and engines never meet one.

A loop over tiles that lie side by side does the same as one pass with one large tile:

    Repeat(count=8)                        Load   tile[1, 8192]  x[0, 0:8192]
        Load   tile[1, 1024]  x[0, +1024]  ->
        Store  tile[1, 1024]  y[0, +1024]  Store  tile[1, 8192]  y[0, 0:8192]

That holds where every region advances by its own extent along one dimension, no tile
lives from one round to the next, and no round reads what another one writes. Other
loops are unrolled, up to MAX_EVENTS.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from .events import (
    Cast,
    Combine,
    Event,
    Fill,
    Load,
    Notify,
    RemoteLoad,
    RemoteStore,
    Repeat,
    Reshape,
    Scale,
    Store,
    Tile,
    Wait,
    with_fields,
)
from .memory import Region, overlaps, region_bytes

MAX_EVENTS = 1_000_000
"""Events of one agent beyond which unrolling gives up."""


class TooManyEventsError(Exception):
    """A loop that cannot be widened has more rounds than can be unrolled."""


def flatten(events: tuple[Event, ...]) -> tuple[Event, ...]:
    """The same events with no Repeat among them.

    Raises TooManyEventsError beyond MAX_EVENTS.
    """
    plain: list[Event] = []
    for event in events:
        if isinstance(event, Repeat):
            plain.extend(_flatten_repeat(event))
        else:
            plain.append(event)
        if len(plain) > MAX_EVENTS:
            raise TooManyEventsError
    return tuple(plain)


def _flatten_repeat(repeat: Repeat) -> tuple[Event, ...]:
    body = flatten(repeat.body)
    wide = _widen(body, repeat.count)
    if wide is not None:
        return wide
    if len(body) * repeat.count > MAX_EVENTS:
        raise TooManyEventsError
    return _unroll(body, repeat.count)


def regions(event: Event) -> Iterator[Region]:
    """The data region that `event` reads or writes, where it has one."""
    if isinstance(event, Load | Store | RemoteLoad | RemoteStore):
        yield event.region


def inner_events(events: Iterable[Event]) -> Iterator[Event]:
    """The events, those inside loops included, each loop's body once."""
    for event in events:
        if isinstance(event, Repeat):
            yield from inner_events(event.body)
        else:
            yield event


def tiles_used(event: Event) -> tuple[Tile, ...]:
    """Tiles that `event` reads."""
    match event:
        case Store(tile=tile) | RemoteStore(tile=tile):
            return (tile,)
        case Combine(left=left, right=right):
            return (left, right)
        case Scale(source=source) | Cast(source=source) | Reshape(source=source):
            return (source,)
        case _:
            return ()


def tile_defined(event: Event) -> Tile | None:
    """The tile that `event` makes."""
    if isinstance(event, Load | RemoteLoad | Combine | Scale | Cast | Fill | Reshape):
        return event.tile
    return None


def _widen(body: tuple[Event, ...], count: int) -> tuple[Event, ...] | None:
    """One pass of `body` over all rounds, or None where that is not the same."""
    dim = _common_dim(body)
    if dim is None or not _is_self_contained(body):
        return None
    wide = tuple(_widen_event(event, dim, count) for event in body)
    return wide if _rounds_are_independent(wide) else None


def _common_dim(body: tuple[Event, ...]) -> int | None:
    """The dimension, from the right, along which every region tiles its view."""
    dims = {_tiled_dim(region) for event in body for region in regions(event)}
    return dims.pop() if len(dims) == 1 else None


def _tiled_dim(region: Region) -> int | None:
    moved = [dim for dim, step in enumerate(region.strides[-1]) if step]
    if len(moved) != 1 or region.strides[-1][moved[0]] != region.shape[moved[0]]:
        return None
    return moved[0] - len(region.shape)


def _is_self_contained(body: tuple[Event, ...]) -> bool:
    """Whether all tiles are whole, no scalars, and made in the body before use."""
    made: set[Tile] = set()
    for event in body:
        if isinstance(event, Notify | Wait):
            return False
        if isinstance(event, Reshape) and event.tile.shape != event.source.shape:
            return False
        if not made.issuperset(tiles_used(event)):
            return False
        tile = tile_defined(event)
        if tile is not None:
            if tile.is_cut or tile.is_scalar:
                return False
            made.add(tile)
    return True


def _rounds_are_independent(wide: tuple[Event, ...]) -> bool:
    """Whether a write and any other access are of the same box or of disjoint bytes."""
    accesses = [
        (region, isinstance(event, Store | RemoteStore))
        for event in wide
        for region in regions(event)
    ]
    return all(
        first == second or not overlaps(region_bytes(first), region_bytes(second))
        for index, (first, first_writes) in enumerate(accesses)
        for second, second_writes in accesses[:index]
        if (first_writes or second_writes) and first.view.buffer == second.view.buffer
    )


def _widen_event(event: Event, dim: int, count: int) -> Event:
    changes: dict[str, object] = {}
    for name in ("tile", "left", "right", "source"):
        tile = getattr(event, name, None)
        if tile is not None:
            changes[name] = _widen_tile(tile, dim, count)
    for region in regions(event):
        changes["region"] = Region(
            view=region.view,
            offsets=region.offsets,
            shape=_grow(region.shape, dim, count),
            strides=region.strides[:-1],
        )
    return with_fields(event, changes)


def _widen_tile(tile: Tile, dim: int, count: int) -> Tile:
    shape = _grow(tile.shape, dim, count)
    return Tile(id=tile.id, shape=shape, dtype=tile.dtype, valid=shape)


def _grow(shape: tuple[int, ...], dim: int, count: int) -> tuple[int, ...]:
    grown = list(shape)
    grown[dim] *= count
    return tuple(grown)


def _unroll(body: tuple[Event, ...], count: int) -> tuple[Event, ...]:
    """Every round of `body`; its tiles keep their names and are made anew each time."""
    return tuple(_shift_event(event, index) for index in range(count) for event in body)


def _shift_event(event: Event, index: int) -> Event:
    for region in regions(event):
        offsets = tuple(
            start + index * step
            for start, step in zip(region.offsets, region.strides[-1], strict=True)
        )
        moved = dataclasses.replace(
            region, offsets=offsets, strides=region.strides[:-1]
        )
        return with_fields(event, {"region": moved})
    return event
