"""Whether the target has room: on-chip buffer, aligned tiles, cores, ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from allreduce_gen.diagnostics import Diagnostic, codes, diagnose
from allreduce_gen.ir.events import (
    Combine,
    Event,
    RemoteStore,
    Repeat,
    Store,
    Tile,
    TileOp,
)
from allreduce_gen.ir.liveness import tile_slots
from allreduce_gen.ir.trace import AgentTrace, Trace, locate
from allreduce_gen.ir.widen import tile_defined
from allreduce_gen.spec import DType, ReduceOp
from allreduce_gen.targets import ALIGNMENT_BYTES, MAX_RANKS, PLATFORMS, Target

from .grouping import group

_OPS = {
    TileOp.ADD: ReduceOp.SUM,
    TileOp.SUB: ReduceOp.SUM,
    TileOp.MUL: ReduceOp.PROD,
    TileOp.MAX: ReduceOp.MAX,
    TileOp.MIN: ReduceOp.MIN,
}


def check_resources(trace: Trace) -> Iterator[Diagnostic]:
    """AR104, AR106, AR501, AR502 and AR506."""
    yield from _check_ranks(trace)
    yield from _check_cores(trace)
    yield from group(one for agent in trace.agents for one in _check_rows(agent))
    yield from group(one for agent in trace.agents for one in _check_ub(trace, agent))
    target = PLATFORMS.get(trace.platform)
    if target is not None:
        yield from group(
            one for agent in trace.agents for one in _check_arithmetic(target, agent)
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
    slots = tile_slots(one.events)
    total = sum(slot.nbytes for slot in slots)
    if target is not None and total > target.ub_bytes:
        largest = slots[0]
        sizes = " + ".join(str(slot.nbytes) for slot in slots)
        yield diagnose(
            codes.AR501,
            f"{one.agent}'s tiles take {total} bytes ({sizes}); the on-chip buffer of "
            f"{target.name} has {target.ub_bytes}",
            location=locate(one.agent, largest.index, one.events[largest.index]),
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


def _check_arithmetic(target: Target, one: AgentTrace) -> Iterator[Diagnostic]:
    """The assembler refuses what the vector unit lacks; its simulator may not."""
    for index, event in enumerate(one.events):
        if isinstance(event, Store | RemoteStore) and event.atomic:
            dtype = event.tile.dtype
            if dtype not in target.atomic_adds:
                allowed = [each.value for each in DType if each in target.atomic_adds]
                yield diagnose(
                    codes.AR104,
                    f"{target.name} cannot add {dtype.value} atomically in memory",
                    location=locate(one.agent, index, event),
                    help=f"use one of {', '.join(allowed)}, or slots of their own",
                )
        for combine in _combines(event):
            op, dtype = _OPS.get(combine.op), combine.tile.dtype
            if op is None or target.combines(op, dtype):
                continue
            others = [each.value for each in DType if target.combines(op, each)]
            yield diagnose(
                codes.AR104,
                f"{target.name} cannot {combine.op.value} tiles of {dtype.value}",
                location=locate(one.agent, index, event),
                help=f"cast them to one of {', '.join(others)} and the result back",
            )


def _combines(event: Event) -> Iterator[Combine]:
    if isinstance(event, Repeat):
        for inner in event.body:
            yield from _combines(inner)
    elif isinstance(event, Combine):
        yield event


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
