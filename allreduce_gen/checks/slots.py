"""Signal slots: who notifies and awaits each, as counters that only rise.

Judging is exact for counters that only rise and waits for `>=`. Two more uses of a slot
are the same thing in other words, and are put so here:

- a slot that its only waiter lowers itself: lowering it by v after a wait is raising
  every later threshold of that waiter by v;
- a slot that one agent `Set`s to values that never fall: each Set adds the difference.

Of any other use (`Doubt`) only bounds are kept: no value is higher than the counter.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from allreduce_gen.ir.events import Notify, NotifyOp, Wait
from allreduce_gen.ir.memory import ByteRuns, Region, overlaps

from .accesses import Access, Instance, Mode
from .program import Point, Program

SlotKey: TypeAlias = tuple[int, str, int]
"""Rank, buffer name, byte."""


class Doubt(enum.Enum):
    """Why a slot is no rising counter."""

    WRITTEN = "a store writes to it"
    LOWERED = "a rank other than its only waiter lowers it"
    FALLING_SET = "it is Set to a value below an earlier one"
    SHARED_SET = "several ranks change it and one of them Sets it"


class Notified(NamedTuple):
    """A notify and where it is."""

    point: Point
    event: Notify


class Awaited(NamedTuple):
    """A wait and where it is."""

    point: Point
    event: Wait


Notifies: TypeAlias = Sequence[Notified]
Waits: TypeAlias = Sequence[Awaited]

SLOT_BYTES = 4


class Op(NamedTuple):
    """A notify that adds `amount` to a counter, or a wait for at least `amount`."""

    at: int
    slot: int
    amount: int
    waits: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One slot of one rank: `increments` belong to `notifies`, `thresholds` to `waits`.

    `reach` is, for each wait, the most that the slot itself can hold then. Where the
    counter may count on although the slot does not (Sets to one value), `cap` is that
    value.
    """

    rank: int
    region: Region
    notifies: tuple[Notified, ...]
    waits: tuple[Awaited, ...]
    increments: tuple[int, ...]
    thresholds: tuple[int, ...]
    reach: tuple[int, ...]
    doubt: Doubt | None
    cap: int | None = None

    @property
    def total(self) -> int:
        """What all notifies together add."""
        return sum(self.increments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sync:
    """All slots, and every agent's notifies and waits in program order."""

    slots: tuple[Slot, ...]
    ops: tuple[tuple[Op, ...], ...]
    ends: tuple[int, ...]  # how many events each agent has


@dataclass(slots=True)
class _Draft:
    rank: int
    region: Region
    notifies: list[Notified] = field(default_factory=list)
    waits: list[Awaited] = field(default_factory=list)


def read_sync(program: Program, accesses: Sequence[Mapping[int, Access]]) -> Sync:
    """The notifies and waits of `program`.

    Notifies to peers that do not exist are left out: they reach nobody.
    """
    drafts: dict[SlotKey, _Draft] = {}
    for number, one in enumerate(program.agents):
        rank = one.agent.rank
        for at, event in enumerate(one.events):
            if isinstance(event, Wait):
                _draft(drafts, rank, event.slot).waits.append(
                    Awaited(Point(number, at), event)
                )
            elif isinstance(event, Notify) and _has_peer(program, event):
                _draft(drafts, event.peer, event.slot).notifies.append(
                    Notified(Point(number, at), event)
                )
    written = _written_slots(accesses, drafts)
    slots = tuple(_finish(draft, key in written) for key, draft in drafts.items())
    return make_sync(slots, tuple(len(one.events) for one in program.agents))


def _has_peer(program: Program, event: Notify) -> bool:
    return 0 <= event.peer < program.trace.num_ranks


def make_sync(slots: tuple[Slot, ...], ends: tuple[int, ...]) -> Sync:
    """`slots`, and what they ask of every agent in program order."""
    ops: list[list[Op]] = [[] for _ in ends]
    for number, slot in enumerate(slots):
        for (point, _), amount in zip(slot.notifies, slot.increments, strict=True):
            ops[point.agent].append(Op(point.at, number, amount, False))
        for (point, _), amount in zip(slot.waits, slot.thresholds, strict=True):
            ops[point.agent].append(Op(point.at, number, amount, True))
    return Sync(slots=slots, ops=tuple(tuple(sorted(mine)) for mine in ops), ends=ends)


def slot_byte(slot: Region) -> int:
    """The first byte of `slot` in its buffer."""
    at = 0
    for offset, extent in zip(slot.offsets, slot.view.shape, strict=True):
        at = at * extent + offset
    return slot.view.start + at * slot.view.dtype.nbytes


def _draft(drafts: dict[SlotKey, _Draft], rank: int, slot: Region) -> _Draft:
    key = (rank, slot.view.buffer.name, slot_byte(slot))
    draft = drafts.get(key)
    if draft is None:
        draft = drafts[key] = _Draft(rank, slot)
    return draft


def _written_slots(
    accesses: Sequence[Mapping[int, Access]], keys: Iterable[SlotKey]
) -> frozenset[SlotKey]:
    """The slots that a store writes to as if they were data."""
    buffers = {buffer for _, buffer, _ in keys}
    stores: dict[Instance, list[ByteRuns]] = {}
    for mine in accesses:
        for access in mine.values():
            if access.instance[0] in buffers and access.mode is not Mode.READ:
                stores.setdefault(access.instance, []).append(access.runs)
    return frozenset(
        (rank, buffer, byte)
        for rank, buffer, byte in keys
        for runs in stores.get((buffer, rank), ())
        if overlaps(runs, ByteRuns(byte, SLOT_BYTES))
    )


def _finish(draft: _Draft, written: bool) -> Slot:
    notifies, waits = tuple(draft.notifies), tuple(draft.waits)
    if written:
        counter = _unbounded(notifies, waits)
    elif any(one.event.op is NotifyOp.SET for one in notifies):
        counter = _count_sets(notifies, waits)
    else:
        counter = _count_adds(notifies, waits)
    return Slot(
        rank=draft.rank,
        region=draft.region,
        notifies=notifies,
        waits=waits,
        increments=tuple(counter.increments),
        thresholds=tuple(counter.thresholds),
        reach=tuple(counter.reach),
        doubt=counter.doubt,
        cap=counter.cap,
    )


class _Counter(NamedTuple):
    increments: list[int]
    thresholds: list[int]
    reach: list[int]
    doubt: Doubt | None
    cap: int | None = None


def _unbounded(notifies: Notifies, waits: Waits) -> _Counter:
    """A store may leave any value, so every wait may pass at any time."""
    passes = [0] * len(waits)
    return _Counter([0] * len(notifies), passes, passes, Doubt.WRITTEN)


def _count_adds(notifies: Notifies, waits: Waits) -> _Counter:
    values = [one.event.value for one in notifies]
    expected = [one.event.expected for one in waits]
    if min(values, default=0) >= 0:
        return _Counter(values, expected, [sum(values)] * len(waits), None)
    return _count_credits(notifies, waits)


def _count_credits(notifies: Notifies, waits: Waits) -> _Counter:
    """Adds of which some are negative: lowering before a wait raises its threshold."""
    increments = [max(one.event.value, 0) for one in notifies]
    lowering = [one for one in notifies if one.event.value < 0]
    waiters = {one.point.agent for one in waits}
    doubt = None
    if waiters and any({one.point.agent} != waiters for one in lowering):
        doubt, lowering = Doubt.LOWERED, []
    lowered = [
        -sum(low.event.value for low in lowering if low.point < one.point)
        for one in waits
    ]
    pairs = list(zip(waits, lowered, strict=True))
    return _Counter(
        increments,
        [one.event.expected + low for one, low in pairs],
        [sum(increments) - low for _, low in pairs],
        doubt,
    )


def _count_sets(notifies: Notifies, waits: Waits) -> _Counter:
    values = [one.event.value for one in notifies]
    expected = [one.event.expected for one in waits]
    all_set = all(one.event.op is NotifyOp.SET for one in notifies)
    if len({one.point.agent for one in notifies}) == 1:
        return _count_one_setter(notifies, expected)
    if all_set and len(set(values)) == 1 and values[0] >= 0:
        # The slot is 0 until the first Set, and the same value ever after.
        never = sum(values) + 1
        thresholds = [one if one <= values[0] else never for one in expected]
        reach = [values[0]] * len(waits)
        return _Counter(values, thresholds, reach, None, values[0])
    bounds = [max(value, 0) for value in values]
    reach = [sum(bounds)] * len(waits)
    return _Counter(bounds, expected, reach, Doubt.SHARED_SET)


def _count_one_setter(notifies: Notifies, expected: list[int]) -> _Counter:
    """One agent's Sets and adds, as the rises of the slot's highest value so far."""
    value = highest = 0
    increments, doubt = [], None
    for one in notifies:
        is_set = one.event.op is NotifyOp.SET
        value = one.event.value if is_set else value + one.event.value
        increments.append(max(value - highest, 0))
        highest = max(value, highest)
        if value < highest:
            doubt = Doubt.FALLING_SET
    return _Counter(increments, expected, [highest] * len(expected), doubt)
