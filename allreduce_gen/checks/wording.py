"""Words that messages share, and the sites by which findings are put together."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from allreduce_gen.diagnostics.wording import plural as plural
from allreduce_gen.ir.events import Event, Wait, WaitCmp, event_kind
from allreduce_gen.ir.memory import Region, format_region

Site: TypeAlias = tuple[str, int, str, str]
"""File, line, step and kind: the same for what one line does on every rank."""

NOTIFY_FIRST = (
    "let every rank notify before it waits: the loop of notifies first, then the loop "
    "of waits"
)
"""What to do about waits that come too early."""


def site_of(event: Event) -> Site:
    origin = event.origin
    return (
        origin.file or "",
        -1 if origin.line is None else origin.line,
        origin.step or "",
        event_kind(event),
    )


def join_words(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def name_ranks(ranks: Iterable[int]) -> str:
    """`rank 1`, `ranks 1, 2 and 3`, `ranks 0 to 15`, in ascending order."""
    numbers = sorted(set(ranks))
    words = [
        word
        for _, run in itertools.groupby(
            enumerate(numbers), lambda pair: pair[1] - pair[0]
        )
        for word in _name_run([rank for _, rank in run])
    ]
    return f"rank{'s' if len(numbers) > 1 else ''} {join_words(words)}"


_LONG_RUN = 6


def _name_run(ranks: Sequence[int]) -> list[str]:
    """Neighbouring ranks one by one, or from the first to the last."""
    if len(ranks) < _LONG_RUN:
        return [str(rank) for rank in ranks]
    return [f"{ranks[0]} to {ranks[-1]}"]


def format_slot(slot: Region) -> str:
    """`[0, 2]`: the slot's row and column."""
    return format_region(slot).removeprefix(slot.view.name)


def describe_wait(wait: Wait) -> str:
    """`slot [0, 2] >= 1`."""
    return f"slot {format_slot(wait.slot)} {format_condition(wait)}"


def format_condition(wait: Wait) -> str:
    """`>= 1`."""
    return f"{'==' if wait.cmp is WaitCmp.EQ else '>='} {wait.expected}"
