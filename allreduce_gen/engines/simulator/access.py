"""What no run may do, found before it starts: memory, peers and types that are not."""

from __future__ import annotations

from collections.abc import Iterator

from allreduce_gen.diagnostics import Code, Diagnostic, codes, diagnose
from allreduce_gen.ir.events import (
    Cast,
    Event,
    Load,
    Notify,
    RemoteLoad,
    RemoteStore,
    Store,
    Wait,
    event_kind,
)
from allreduce_gen.ir.memory import Region, format_region, region_bytes
from allreduce_gen.ir.trace import AgentTrace, locate

from .casts import MODES

_Fault = tuple[Code, str, str]  # code, message, help


def find_faults(agent: AgentTrace, num_ranks: int) -> Iterator[Diagnostic]:
    """Every event of `agent` that cannot run, as AR404, AR505 or AR703."""
    for index, event in enumerate(agent.events):
        for code, message, help in _faults(event, num_ranks):
            location = locate(agent.agent, index, event)
            yield diagnose(code, message, help=help, location=location)


def _faults(event: Event, num_ranks: int) -> Iterator[_Fault]:
    kind = event_kind(event)
    match event:
        case Notify(peer=peer, slot=slot):
            yield from _peer_faults(kind, peer, num_ranks)
            yield from _region_faults(kind, slot)
        case Wait(slot=slot):
            yield from _region_faults(kind, slot)
        case RemoteLoad(peer=peer) | RemoteStore(peer=peer):
            yield from _peer_faults(kind, peer, num_ranks)
            yield from _move_faults(kind, event)
        case Load() | Store():
            yield from _move_faults(kind, event)
        case Cast(mode=mode) if mode not in MODES:
            known = ", ".join(MODES)
            yield codes.AR703, f"cast mode {mode!r} is not known", f"use one of {known}"


def _peer_faults(kind: str, peer: int, num_ranks: int) -> Iterator[_Fault]:
    if not 0 <= peer < num_ranks:
        yield (
            codes.AR404,
            f"{kind} goes to peer {peer}, but ranks are 0 to {num_ranks - 1}",
            "compute the peer as `(my_rank + step) % NUM_RANKS`",
        )


def _move_faults(
    kind: str, event: Load | Store | RemoteLoad | RemoteStore
) -> Iterator[_Fault]:
    yield from _region_faults(kind, event.region)
    view, tile = event.region.view, event.tile
    if view.dtype is not tile.dtype:
        yield (
            codes.AR505,
            f"{kind} moves a {tile.dtype.value} tile, but {view.name} holds "
            f"{view.dtype.value}",
            "cast the tile, or declare both with one type",
        )


def _region_faults(kind: str, region: Region) -> Iterator[_Fault]:
    view = region.view
    inside = not region.num_elems or all(
        start >= 0 and start + extent <= limit
        for start, extent, limit in zip(
            region.offsets, region.shape, view.shape, strict=True
        )
    )
    end, nbytes = region_bytes(region).end, view.buffer.nbytes
    if not inside:
        yield (
            codes.AR404,
            f"{kind} of {format_region(region)}, but {view.name} has shape "
            f"{list(view.shape)}",
            "keep offset + extent within each dimension",
        )
    elif end > nbytes:
        yield (
            codes.AR404,
            f"{kind} of {format_region(region)} ends at byte {end}, but buffer "
            f"{view.buffer.name} has {nbytes} bytes",
            "make the buffer as large as its view; its size is in bytes",
        )
