"""Signal rows: every round of notifies that may meet another has a row of its own.

Slots only ever count up, so a row that has let one round pass would let the next one
pass at once. Rounds that no two ranks share may use one row together: a slot is named
by its row and by the rank that raises it.
"""

from __future__ import annotations

from allreduce_gen.ir.expr import ONE, Expr, Name
from allreduce_gen.ir.plan import SignalRow
from allreduce_gen.spec import AllReduceSpec, Reuse

EPOCH = "epoch"
"""The kernel's argument that counts its calls, from 1."""


def allot_rows(**counts: int) -> tuple[SignalRow, ...]:
    """Rows one after another: `staged=1` makes one that is called ROW_STAGED."""
    rows: list[SignalRow] = []
    for name, count in counts.items():
        first = rows[-1].value + rows[-1].count if rows else 0
        rows.append(SignalRow(name=f"ROW_{name.upper()}", value=first, count=count))
    return tuple(rows)


def expected(spec: AllReduceSpec) -> Expr:
    """What a slot has reached when a wait may pass: in call k of `epoch`, k."""
    return Name(EPOCH) if spec.reuse is Reuse.EPOCH else ONE


def reuse_scalars(spec: AllReduceSpec) -> tuple[str, ...]:
    """The kernel's arguments that persisting windows need."""
    return (EPOCH,) if spec.reuse is Reuse.EPOCH else ()
