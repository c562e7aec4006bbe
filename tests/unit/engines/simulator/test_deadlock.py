"""AR801: who is blocked, where, and on what."""

import pytest

from allreduce_gen.diagnostics import codes, format_diagnostic
from allreduce_gen.engines.base import DEFAULT_OPTIONS, RunOptions, Schedule
from allreduce_gen.engines.simulator import simulate
from allreduce_gen.errors import ExecutionError
from allreduce_gen.ir.events import NotifyOp, WaitCmp


def deadlock_of(program, options=DEFAULT_OPTIONS):
    with pytest.raises(ExecutionError) as caught:
        simulate(program.trace(), {}, options)
    (finding,) = caught.value.diagnostics
    assert finding.code is codes.AR801
    return finding


def test_waits_before_notifies_block_every_rank(sketch):
    program = sketch(2)
    for rank in program.ranks:
        rank.wait(0, 1 - rank.rank)
        rank.notify(1 - rank.rank)
    assert format_diagnostic(deadlock_of(program)).splitlines()[:4] == [
        "error[AR801] deadlock-observed: 2 of 2 ranks are blocked",
        "  --> kernel.py:1, rank 0, event 0 (wait)",
        "   = rank 0: kernel.py:1, rank 0, event 0 (wait): signal[0, 1] is 0, "
        "wanted >= 1",
        "   = rank 1: kernel.py:11, rank 1, event 0 (wait): signal[0, 0] is 0, "
        "wanted >= 1",
    ]


@pytest.mark.parametrize("schedule", Schedule)
def test_ranks_that_ended_are_counted(sketch, schedule):
    program = sketch(3)
    for rank in program.ranks[1:]:
        rank.notify(0, 0, 0, op=NotifyOp.SET)
    program.ranks[0].wait(0, 0, 2)
    finding = deadlock_of(program, RunOptions(schedule=schedule))
    assert finding.message == "1 of 3 ranks are blocked, the other 2 have ended"
    assert [note.text for note in finding.notes] == ["signal[0, 0] is 1, wanted >= 2"]


def test_an_equality_that_is_overshot_blocks(sketch):
    program = sketch(2)
    program.ranks[0].notify(1, value=2)
    program.ranks[1].wait(0, 0, 1, WaitCmp.EQ)
    assert deadlock_of(program).notes[0].text == "signal[0, 0] is 2, wanted == 1"


def test_a_slot_wraps_as_int32_does(sketch):
    program = sketch(1)
    rank = program.ranks[0]
    rank.notify(0, value=2**31 - 1)
    rank.notify(0, value=1)
    rank.wait(0, 0, 0)
    assert deadlock_of(program).notes[0].text == (
        "signal[0, 0] is -2147483648, wanted >= 0"
    )


def test_a_credit_handed_back_lets_a_second_round_wait(sketch):
    program = sketch(2)
    first, second = program.ranks
    for _ in range(2):
        first.notify(1)
        second.wait(0, 0)
        second.notify(1, 0, 0, value=-1)
    assert simulate(program.trace(), {}).counters[1].waits == 2
