"""Reduce-scatter, all-gather, broadcast and all-to-all on windows of one row a rank.

A copy of memory onto itself is left out: it changes nothing, and nobody can see it.
"""

from __future__ import annotations

from math import prod

from allreduce_gen.ir.events import Tile, TileOp
from allreduce_gen.ir.memory import View

from .crew import Crew, pieces


def reduce_scatter(crew: Crew, target: View, op: TileOp, room: int) -> None:
    """Row `me` of this rank becomes `op` over row `me` of all ranks."""
    row = prod(target.shape[1:])
    crew.barrier(1)
    totals = [
        (first, _reduce(crew, target, op, (crew.me * row + first, count, room)))
        for first, count in pieces(row, room)
    ]
    crew.barrier(2)
    for first, total in totals:
        crew.store(total, target, crew.me * row + first)
    crew.settle(2)


def _reduce(crew: Crew, target: View, op: TileOp, piece: tuple[int, int, int]) -> Tile:
    total = crew.load(target, *piece)
    for peer in crew.peers():
        total = crew.combine(op, total, crew.fetch(target, peer, *piece))
    return total


def all_gather(crew: Crew, source: View | Tile, target: View, room: int) -> None:
    """Row `me` of every rank becomes this rank's `source`."""
    row = prod(target.shape[1:])
    if isinstance(source, Tile):
        whole = crew.flatten(source)
        for peer in range(crew.size):
            crew.push(whole, target, peer, crew.me * row)
    else:
        for peer in range(crew.size):
            for first, count in pieces(row, room):
                tile = crew.load(source, first, count, min(room, row))
                crew.push(tile, target, peer, crew.me * row + first)
    crew.barrier(1)
    crew.settle(1)


def all_to_all(crew: Crew, source: View, target: View, room: int) -> None:
    """Row `me` of every rank d becomes row d of this rank's `source`."""
    row = prod(target.shape[1:])
    for peer in range(crew.size):
        for first, count in pieces(row, room):
            tile = crew.load(source, peer * row + first, count, min(room, row))
            crew.push(tile, target, peer, crew.me * row + first)
    crew.barrier(1)
    crew.settle(1)


def broadcast(crew: Crew, target: View, root: int, room: int, *, paced: bool) -> None:
    """All of `target` becomes the root's; `paced` is with a barrier for each piece."""
    size, credits = prod(target.shape), 0
    for first, count in pieces(size, room):
        if paced or not credits:
            credits += 1
            crew.barrier(credits)
        if crew.me != root:
            tile = crew.fetch(target, root, first, count, min(room, size))
            crew.store(tile, target, first)
    crew.settle(credits)
