"""All-reduce in place where every rank reads its left neighbour, in 2 (P - 1) rounds.

reduce-scatter   round s: segment me - s - 1 of the left is added to my own
all-gather       round s: segment me - s of the left replaces my own
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from allreduce_gen.ir.events import TileOp
from allreduce_gen.ir.memory import View

from .crew import Crew, pieces


def ring_all_reduce(
    crew: Crew, target: View, op: TileOp, bound: Callable[[int], int], room: int
) -> None:
    """The form for kernels: each round is made of pieces of `room` elements.

    Segment i is from `bound(i)` to `bound(i + 1)`. A barrier stands before and after
    the reads of each piece, on the round's own row; all ranks go as far as the longest
    segment.
    """
    longest = max(bound(i + 1) - bound(i) for i in range(crew.size))
    rounds = 2 * (crew.size - 1)
    for row in range(rounds):
        adds = row < crew.size - 1
        step = row + 1 if adds else row - crew.size + 2
        segment = (crew.me - step - adds + 2 * crew.size) % crew.size
        for number, (first, _) in enumerate(pieces(longest, room)):
            start, stop = bound(segment) + first, bound(segment + 1)
            count = min(room, stop - start)
            crew.barrier(2 * number + 1, row)
            tile = None
            if count > 0:
                tile = crew.fetch(target, _left(crew), start, count, room)
                if adds:
                    own = crew.load(target, start, count, room)
                    tile = crew.combine(op, own, tile)
            crew.barrier(2 * number + 2, row)
            if tile is not None:
                crew.store(tile, target, start)
    for row in range(rounds):
        crew.settle(2 * len(list(pieces(longest, room))), row)


def host_ring_all_reduce(crew: Crew, target: View, op: TileOp, room: int) -> None:
    """The form for hosts: equal segments, one barrier a round and one at the end."""
    segment_size = prod(target.shape) // crew.size
    rounds = 2 * (crew.size - 1)
    for row in range(rounds):
        adds = row < crew.size - 1
        step = row + 1 if adds else row - crew.size + 2
        segment = (crew.me - step - adds + 2 * crew.size) % crew.size
        crew.barrier(1, row)
        for first, count in pieces(segment_size, room):
            start = segment * segment_size + first
            tile = crew.fetch(target, _left(crew), start, count, room)
            if adds:
                own = crew.load(target, start, count, room)
                tile = crew.combine(op, own, tile)
            crew.store(tile, target, start)
    crew.barrier(1, rounds)
    for row in range(rounds + 1):
        crew.settle(1, row)


def _left(crew: Crew) -> int:
    return (crew.me - 1 + crew.size) % crew.size
