"""When the order of two signals on one slot makes no difference."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from allreduce_gen.ir.events import Notify, NotifyOp, Wait, WaitCmp

Signal: TypeAlias = Notify | Wait


def lets_go(wait: Wait, value: int) -> bool:
    """Whether `wait` passes where its slot holds `value`."""
    match wait.cmp:
        case WaitCmp.EQ:
            return value == wait.expected
        case WaitCmp.GE:
            return value >= wait.expected
        case _:
            assert_never(wait.cmp)


def commutes(mine: Signal, other: Signal, value: int) -> bool:
    """Whether `mine`, which can happen now, may as well happen before `other`.

    `value` is what the slot holds now. Of two notifies only additions commute. A
    notify may come before a wait that it can never close, a wait before a notify that
    can never close it.
    """
    match mine, other:
        case Wait(), Wait():
            return True
        case Notify(), Notify():
            return mine.op is other.op is NotifyOp.ATOMIC_ADD
        case Wait(), Notify():
            return _keeps_open(other, mine)
        case Notify(), Wait():
            return other.cmp is WaitCmp.GE and _raises(mine, value)
        case _:
            raise AssertionError(f"{mine} and {other} are no signals")


def _keeps_open(notify: Notify, wait: Wait) -> bool:
    """Whether an open `wait` is still open after `notify`."""
    if notify.op is NotifyOp.SET:
        return lets_go(wait, notify.value)
    return wait.cmp is WaitCmp.GE and notify.value >= 0


def _raises(notify: Notify, value: int) -> bool:
    """Whether `notify` cannot lower a slot that holds `value`.

    A Set commutes with no other notify, so that nobody else changes the slot before.
    """
    return notify.value >= (value if notify.op is NotifyOp.SET else 0)
