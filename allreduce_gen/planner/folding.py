"""Any number of ranks, for algorithms that want a certain one.

The first ranks, the core, run the algorithm; each rank after them gives its elements to
one of the core before, and gets the result back afterwards:

    6 ranks, a core of 4        4 -> 0, 5 -> 1 | 0 1 2 3 | 0 -> 4, 1 -> 5

That is a read of the whole vector before and one after, and two handshakes, of which
both use one signal row: they raise slots of different ranks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from allreduce_gen.ir.constants import Constant
from allreduce_gen.ir.expr import MY_RANK, NUM_RANKS, ONE, ZERO, Expr, Name
from allreduce_gen.ir.steps import Block, Move, OnePeer, Phase, Place, Span, Step
from allreduce_gen.spec import AllReduceSpec

from .grids import Grid
from .handshakes import notify_one, wait_for_one
from .reducing import combine_partials

CORE, EXTRA = Name("CORE"), Name("EXTRA")
_ROW = Name("ROW_FOLDED")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """`core` ranks run the algorithm, `extra` ones are folded into the first of them.

    `grid` is how the data window is cut: in one chunk, or in one for each of the core.
    """

    spec: AllReduceSpec
    core: int
    grid: Grid

    @property
    def extra(self) -> int:
        return self.spec.num_ranks - self.core

    @property
    def size(self) -> Expr:
        """The core's number of ranks, as the kernel names it."""
        return CORE if self.extra else NUM_RANKS

    @property
    def span(self) -> Span:
        """The whole window."""
        return self.grid.span(self.size if self.grid.parts > 1 else ONE)

    @property
    def rows(self) -> dict[str, int]:
        """The signal rows that folding needs."""
        return {"folded": 1} if self.extra else {}

    @property
    def constants(self) -> tuple[Constant, ...]:
        if not self.extra:
            return ()
        meaning = "ranks that exchange with each other"
        others = "ranks after them, folded into the first ones"
        return (
            Constant(name="CORE", value=self.core, meaning=meaning),
            Constant(name="EXTRA", value=self.extra, meaning=others),
        )

    def around(
        self, steps: tuple[Step, ...], row: Expr = ZERO, result_row: Expr = ZERO
    ) -> tuple[Step, ...]:
        """`steps` of the core, with the others folded in before and out after.

        Inputs are in `row` of the data window, the result comes to be in `result_row`.
        The steps have no guards of their own yet.
        """
        if not self.extra:
            return steps
        core = (replace(step, guard=self.size > MY_RANK) for step in steps)
        return *self._fold_in(row), *core, *self._fold_out(result_row)

    def _fold_in(self, row: Expr) -> tuple[Step, ...]:
        giver = MY_RANK + CORE
        own = Place(window="data", at=ZERO, row=row)
        add = combine_partials(
            self.spec,
            "add_folded",
            Phase.FOLD,
            own=own,
            contribution=Place(window="data", at=ZERO, row=row, peer=giver),
            target=own,
            span=self.span,
            peers=OnePeer(peer=giver),
        )
        return (
            notify_one("folded", _ROW, MY_RANK - CORE, guard=MY_RANK >= CORE),
            Block(
                name="fold_in",
                phase=Phase.FOLD,
                guard=EXTRA > MY_RANK,
                body=(*wait_for_one(self.spec, "folded", _ROW, giver), add),
            ),
        )

    def _fold_out(self, row: Expr) -> tuple[Step, ...]:
        giver = MY_RANK - CORE
        take = Move(
            name="take_result",
            phase=Phase.FOLD,
            source=Place(window="data", at=ZERO, row=row, peer=giver),
            target=Place(window="data", at=ZERO, row=row),
            span=self.span,
            tile_name="given",
        )
        return (
            notify_one("unfolded", _ROW, MY_RANK + CORE, guard=EXTRA > MY_RANK),
            Block(
                name="fold_out",
                phase=Phase.FOLD,
                guard=MY_RANK >= CORE,
                body=(*wait_for_one(self.spec, "unfolded", _ROW, giver), take),
            ),
        )


def power_below(num_ranks: int) -> int:
    """The largest power of two that is not above `num_ranks`."""
    return 1 << (num_ranks.bit_length() - 1)
