"""Whether the target has room: on-chip buffer, aligned tiles, cores, ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from allreduce_gen.diagnostics import Diagnostic, codes, diagnose
from allreduce_gen.ir.events import Event, Repeat, Tile
from allreduce_gen.ir.liveness import first_beyond, tile_slots
from allreduce_gen.ir.trace import AgentTrace, Trace, locate
from allreduce_gen.ir.widen import tile_defined
from allreduce_gen.targets import ALIGNMENT_BYTES, MAX_RANKS, PLATFORMS

from .grouping import group
from .instructions import check_instructions


def check_resources(trace: Trace) -> Iterator[Diagnostic]:
    """AR104, AR106, AR501, AR502 and AR506."""
    yield from _check_ranks(trace)
    yield from _check_cores(trace)
    yield from group(one for agent in trace.agents for one in _check_rows(agent))
    yield from group(one for agent in trace.agents for one in _check_ub(trace, agent))
    target = PLATFORMS.get(trace.platform)
    if target is not None:
        yield from group(
            one for agent in trace.agents for one in check_instructions(target, agent)
        )


def _check_ranks(trace: Trace) -> Iterator[Diagnostic]:
    if trace.num_ranks > MAX_RANKS:
        yield diagnose(
            codes.AR106,
            f"the program runs on {trace.num_ranks} ranks; one communication context "
            f"holds {MAX_RANKS}",
            help=f"use {MAX_RANKS} ranks or fewer",
        )


def _check_cores(trace: Trace) -> Iterator[Diagnostic]:
    target = PLATFORMS.get(trace.platform)
    blocks = Counter(one.agent.rank for one in trace.agents)
    rank, most = max(
        blocks.items(), key=lambda item: (item[1], -item[0]), default=(0, 0)
    )
    if target is not None and most > target.num_cores:
        yield diagnose(
            codes.AR506,
            f"rank {rank} runs {most} blocks; {target.name} has {target.num_cores} "
            "vector cores",
            help=f"use pl.spmd({target.num_cores}) or fewer blocks",
        )


def _check_ub(trace: Trace, one: AgentTrace) -> Iterator[Diagnostic]:
    target = PLATFORMS.get(trace.platform)
    if target is None:
        return
    slots = tile_slots(one.events)
    beyond = first_beyond(slots, target.ub_bytes)
    if beyond is not None:
        total = sum(slot.nbytes for slot in slots)
        sizes = " + ".join(str(slot.nbytes) for slot in slots)
        yield diagnose(
            codes.AR501,
            f"{one.agent}'s tiles take {total} bytes ({sizes}); the on-chip buffer of "
            f"{target.name} has {target.ub_bytes}",
            location=locate(one.agent, beyond.index, one.events[beyond.index]),
            help="load and store in a loop over smaller tiles",
        )


def _check_rows(one: AgentTrace) -> Iterator[Diagnostic]:
    for index, event in enumerate(one.events):
        for tile in _tiles_made(event):
            if _row_bytes(tile) % ALIGNMENT_BYTES:
                yield diagnose(
                    codes.AR502,
                    f"a tile of shape {list(tile.shape)} and {tile.dtype.name} has "
                    f"rows of {_row_bytes(tile)} bytes; they must be multiples of "
                    f"{ALIGNMENT_BYTES}",
                    location=locate(one.agent, index, event),
                    help="pad the tile's last dimension to whole blocks of "
                    f"{ALIGNMENT_BYTES} bytes and cut it with valid_shape",
                )


def _tiles_made(event: Event) -> Iterator[Tile]:
    if isinstance(event, Repeat):
        for inner in event.body:
            yield from _tiles_made(inner)
    elif (tile := tile_defined(event)) is not None and not tile.is_scalar:
        yield tile


def _row_bytes(tile: Tile) -> int:
    """Bytes of a row; a tile of one column lies column by column."""
    extents = tile.shape[-2:] or (1,)
    extent = extents[0] if extents[-1] == 1 else extents[-1]
    return extent * tile.dtype.nbytes
