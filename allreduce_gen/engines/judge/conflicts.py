"""Which accesses of two agents must not meet."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from allreduce_gen.ir.memory import overlaps

from .programs import Access, Memory, Program, Slot

Meeting: TypeAlias = tuple[int, int, int, int]
"""One agent in one of its segments, and another, of a higher number, in one of its."""

_Placed: TypeAlias = tuple[int, int, Access]  # agent, segment, access


def find_conflicts(
    programs: Sequence[Program],
) -> dict[Meeting, list[tuple[Access, Access]]]:
    """Every pair that touches the same bytes, one of the two writing, by meeting."""
    conflicts: defaultdict[Meeting, list[tuple[Access, Access]]] = defaultdict(list)
    for accesses in _by_memory(programs).values():
        for left, right in itertools.combinations(accesses, 2):
            if left[0] != right[0] and _conflict(left[2], right[2]):
                meeting = (left[0], left[1], right[0], right[1])
                conflicts[meeting].append((left[2], right[2]))
    return conflicts


def _by_memory(programs: Sequence[Program]) -> dict[Memory, list[_Placed]]:
    found: defaultdict[Memory, list[_Placed]] = defaultdict(list)
    for agent, program in enumerate(programs):
        for at, segment in enumerate(program.segments):
            for access in segment:
                found[access.memory].append((agent, at, access))
    return found


def _conflict(left: Access, right: Access) -> bool:
    if not (left.writes or right.writes) or (left.is_atomic and right.is_atomic):
        return False
    return overlaps(left.runs, right.runs)


def stores_to_slots(programs: Sequence[Program]) -> Iterator[tuple[Program, Access]]:
    """Plain stores over cells that signals use: a trace does not hold their values."""
    slots = {sync.slot for program in programs for sync in program.syncs}
    for program in programs:
        for access in itertools.chain.from_iterable(program.segments):
            if access.writes and any(_covers(access, slot) for slot in slots):
                yield program, access


def _covers(access: Access, slot: Slot) -> bool:
    name, holder, start = slot
    return access.memory == (name, holder) and any(
        first <= start < end for first, end in access.runs.runs()
    )
