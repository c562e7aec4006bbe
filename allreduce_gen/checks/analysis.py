"""What the checks of one trace share, each part computed once and only where needed."""

from __future__ import annotations

from functools import cached_property

from allreduce_gen.ir.trace import Trace

from .accesses import Access, read_accesses
from .decided import Decided
from .exact import Judge
from .happens_before import Order, compute_order
from .program import Program, prepare
from .replay import Reach, Replay, reach, replay
from .slots import Sync, read_sync


class Analysis:
    """A trace with its plain events, slots, replays and order.

    `decided` is what a search of all executions has found, where there was one. Calls
    that are to be `alike_calls` differ in nothing but their number.
    """

    def __init__(
        self, trace: Trace, decided: Decided | None = None, alike_calls: bool = False
    ) -> None:
        self.trace, self.decided = trace, decided
        self.alike_calls = alike_calls

    @cached_property
    def program(self) -> Program:
        return prepare(self.trace)

    @cached_property
    def accesses(self) -> tuple[dict[int, Access], ...]:
        return read_accesses(self.program)

    @cached_property
    def sync(self) -> Sync:
        return read_sync(self.program, self.accesses)

    @cached_property
    def replay(self) -> Replay:
        return replay(self.program, self.sync)

    @cached_property
    def reached(self) -> Reach:
        return reach(self.sync)

    @cached_property
    def order(self) -> Order:
        return compute_order(self.sync, self.reached)

    @cached_property
    def judge(self) -> Judge:
        return Judge(self.sync, self.reached, self.order)
