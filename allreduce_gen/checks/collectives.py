"""What the outputs of each collective hold."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, assert_never


class Collective(enum.Enum):
    """What a program computes from every rank's input."""

    ALL_REDUCE = "all_reduce"
    REDUCE_SCATTER = "reduce_scatter"
    ALL_GATHER = "all_gather"
    BROADCAST = "broadcast"
    ALL_TO_ALL = "all_to_all"


Source: TypeAlias = tuple[int, int]
"""A rank, and how many elements further on in its input than in the output."""


class Wanted(NamedTuple):
    """Output elements `start` to `stop` are made of one element of each source."""

    start: int
    stop: int
    sources: frozenset[Source]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Elements that each of `num_ranks` ranks puts in and gets out."""

    num_ranks: int
    size_in: int
    size_out: int


def fits_shape(collective: Collective, shape: Shape) -> bool:
    """Whether a rank's output has as many elements as `collective` gives it."""
    match collective:
        case Collective.ALL_REDUCE | Collective.BROADCAST | Collective.ALL_TO_ALL:
            return shape.size_out == shape.size_in
        case Collective.REDUCE_SCATTER:
            return shape.size_out * shape.num_ranks == shape.size_in
        case Collective.ALL_GATHER:
            return shape.size_out == shape.size_in * shape.num_ranks
        case _:
            assert_never(collective)


def wanted(
    collective: Collective, shape: Shape, rank: int, root: int = 0
) -> Iterator[Wanted]:
    """What the output of `rank` holds, from its first element to its last."""
    ranks, size_in, size_out = range(shape.num_ranks), shape.size_in, shape.size_out
    chunk = size_in // shape.num_ranks
    match collective:
        case Collective.ALL_REDUCE:
            yield Wanted(0, size_out, frozenset((each, 0) for each in ranks))
        case Collective.REDUCE_SCATTER:
            by = rank * chunk
            yield Wanted(0, size_out, frozenset((each, by) for each in ranks))
        case Collective.ALL_GATHER:
            for each in ranks:
                start = each * size_in
                yield Wanted(start, start + size_in, frozenset({(each, -start)}))
        case Collective.BROADCAST:
            yield Wanted(0, size_out, frozenset({(root, 0)}))
        case Collective.ALL_TO_ALL:
            for each in ranks:
                start, by = each * chunk, (rank - each) * chunk
                yield Wanted(start, start + chunk, frozenset({(each, by)}))
        case _:
            assert_never(collective)
