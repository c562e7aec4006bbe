"""All-reduce in place where every rank reads every other one.

all ready | for each piece: own + every peer's, all have read, store | settle
"""

from __future__ import annotations

from math import prod

from allreduce_gen.ir.events import TileOp
from allreduce_gen.ir.memory import View

from .crew import Crew, pieces


def mesh_all_reduce(
    crew: Crew, target: View, op: TileOp, room: int, block: int = 0, blocks: int = 1
) -> None:
    """Every rank gets `op` over all of `target`; its own value comes first.

    `room` is the elements in a piece; of several blocks, each takes every so many-th.
    """
    credits = 1
    crew.barrier(credits)
    for first, count in list(pieces(prod(target.shape), room))[block::blocks]:
        total = crew.load(target, first, count, room)
        for peer in crew.peers():
            total = crew.combine(
                op, total, crew.fetch(target, peer, first, count, room)
            )
        credits += 1
        crew.barrier(credits)
        crew.store(total, target, first)
    crew.settle(credits)
