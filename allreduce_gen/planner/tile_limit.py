"""Whether the tiles that `--tile` asks for fit into the on-chip buffer together."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import replace

from allreduce_gen.diagnostics import Diagnostic, codes, diagnose
from allreduce_gen.ir.expand import expand, expand_rank
from allreduce_gen.ir.liveness import TileSlot, first_beyond, tile_slots, ub_bytes
from allreduce_gen.ir.trace import AgentTrace, locate
from allreduce_gen.spec import AllReduceSpec
from allreduce_gen.targets import PLATFORMS, aligned_elems

from .planners import make_plan


def check_tile_limit(spec: AllReduceSpec) -> Iterator[Diagnostic]:
    """AR501 where the tiles of `spec`, whose other options are good, do not fit."""
    if spec.tile is None:
        return
    limit = PLATFORMS[spec.platform].ub_bytes
    one, slots = _busiest(spec)
    beyond = first_beyond(slots, limit)
    if beyond is not None:
        sizes = " + ".join(str(slot.nbytes) for slot in slots)
        yield diagnose(
            codes.AR501,
            f"tiles of {spec.tile} elements take {_total(slots)} bytes ({sizes}); "
            f"the on-chip buffer of {spec.platform} has {limit}",
            location=locate(one.agent, beyond.index, one.events[beyond.index]),
            help=f"give --tile at most {_largest(spec, one.agent.rank, limit)}",
        )


def _busiest(spec: AllReduceSpec) -> tuple[AgentTrace, tuple[TileSlot, ...]]:
    """The first of the ranks whose tiles take most, and the slots that they take."""
    agents = expand(make_plan(spec)).agents
    return max(
        ((one, tile_slots(one.events)) for one in agents),
        key=lambda pair: _total(pair[1]),
    )


def _largest(spec: AllReduceSpec, rank: int, limit: int) -> int:
    """The most elements, in whole 32-byte blocks, of a tile that fits on `rank`."""
    assert spec.tile is not None
    block = aligned_elems(spec.dtype)

    def is_too_large(blocks: int) -> bool:
        plan = make_plan(replace(spec, tile=blocks * block))
        return ub_bytes(expand_rank(plan, rank).events) > limit

    blocks = range(1, spec.tile // block + 1)
    return block * bisect.bisect_left(blocks, True, key=is_too_large)


def _total(slots: tuple[TileSlot, ...]) -> int:
    return sum(slot.nbytes for slot in slots)
