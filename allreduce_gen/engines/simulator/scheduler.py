"""Who runs next: the order in which the simulator lets agents take their events."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeAlias

from allreduce_gen.engines.base import RunOptions, Schedule

from .machine import Machine, Status
from .memory import Memory

Pick: TypeAlias = Callable[[Sequence[Machine]], tuple[int, int]]
"""Which of the machines that are ready goes on, and for how many events."""

_LONGEST_BURST = 64


def make_pick(options: RunOptions, num_ranks: int) -> Pick:
    """The order that `options` ask for; the same seed gives the same order."""
    schedule = options.schedule
    if schedule is Schedule.ROUND_ROBIN:
        return lambda _: (0, 1)
    draw = random.Random(options.seed)
    late = options.seed % num_ranks if schedule.has_late_rank else None

    def pick(ready: Sequence[Machine]) -> tuple[int, int]:
        early = [at for at, one in enumerate(ready) if one.agent.rank != late]
        if not early:
            return 0, 1
        return draw.choice(early), draw.randint(1, _LONGEST_BURST)

    return pick


def run_all(machines: Sequence[Machine], memory: Memory, pick: Pick) -> list[Machine]:
    """Run until nothing moves; returns the machines that are blocked for good."""
    ready, blocked = list(machines), list[Machine]()
    while ready or _woken_by_held_stores(machines, memory, ready, blocked):
        at, num_events = pick(ready)
        machine = ready.pop(at)
        match machine.advance(num_events):
            case Status.READY:
                ready.append(machine)
            case Status.BLOCKED:
                blocked.append(machine)
            case Status.DONE:
                pass
        _wake(memory.take_changed(), ready, blocked)
    return blocked


def _wake(ranks: set[int], ready: list[Machine], blocked: list[Machine]) -> None:
    """Let the blocked machines of `ranks` look at their slots again."""
    if ranks and blocked:
        ready += [machine for machine in blocked if machine.agent.rank in ranks]
        blocked[:] = [one for one in blocked if one.agent.rank not in ranks]


def _woken_by_held_stores(
    machines: Sequence[Machine],
    memory: Memory,
    ready: list[Machine],
    blocked: list[Machine],
) -> bool:
    """Show all stores that are held back: late does not mean never."""
    for machine in machines:
        machine.publish()
    _wake(memory.take_changed(), ready, blocked)
    return bool(ready)
