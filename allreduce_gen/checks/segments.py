"""What memory and tiles hold, as runs of elements with one value each."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from typing import NamedTuple

from allreduce_gen.spec import DType

from .program import Point
from .values import Value


class Held(NamedTuple):
    """What a run of memory holds: elements of type `dtype`, stored by `writer`.

    `dtype` is None before the first store, when the memory may be of any type.
    """

    value: Value
    dtype: DType | None
    writer: Point | None


class Run(NamedTuple):
    """Elements `start` to `stop` of a tile, all with one value."""

    start: int
    stop: int
    value: Value


class Memory:
    """One piece of memory, byte by byte: runs that together cover all of it."""

    def __init__(self, nbytes: int, initial: Held) -> None:
        self._nbytes = nbytes
        self._starts = [0]
        self._held = [initial]

    def read(self, start: int, stop: int) -> Iterator[tuple[int, int, Held]]:
        """The runs that cover bytes `start` to `stop`, as (start, stop, what)."""
        number = bisect.bisect_right(self._starts, start) - 1
        while start < stop:
            end = min(self._end(number), stop)
            yield start, end, self._held[number]
            start, number = end, number + 1

    def write(self, start: int, stop: int, held: Held) -> None:
        """Put `held` into bytes `start` to `stop`."""
        first, last = self._cut(start), self._cut(stop)
        self._starts[first:last] = [start]
        self._held[first:last] = [held]
        self._merge(first)

    def _end(self, number: int) -> int:
        number += 1
        return self._starts[number] if number < len(self._starts) else self._nbytes

    def _cut(self, at: int) -> int:
        """The number of the run that starts at byte `at`, made so where need be."""
        number = bisect.bisect_left(self._starts, at)
        if number == len(self._starts) and at == self._nbytes:
            return number
        if number == len(self._starts) or self._starts[number] != at:
            self._starts.insert(number, at)
            self._held.insert(number, self._held[number - 1])
        return number

    def _merge(self, number: int) -> None:
        """Join run `number` with its neighbours where they hold the same."""
        for later in (number + 1, number):
            if 0 < later < len(self._starts):
                before, held = self._held[later - 1], self._held[later]
                if before[:2] == held[:2]:
                    del self._starts[later], self._held[later]


def zip_runs(
    left: list[Run], right: list[Run]
) -> Iterator[tuple[int, int, Value, Value]]:
    """Where both tiles have a value: (start, stop, left value, right value)."""
    mine, theirs = 0, 0
    while mine < len(left) and theirs < len(right):
        ours, others = left[mine], right[theirs]
        start, stop = max(ours.start, others.start), min(ours.stop, others.stop)
        if start < stop:
            yield start, stop, ours.value, others.value
        mine += ours.stop == stop
        theirs += others.stop == stop
