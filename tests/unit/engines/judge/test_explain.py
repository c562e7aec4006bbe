"""Counterexamples as lines to read."""

from allreduce_gen.engines.judge import explain, judge
from allreduce_gen.ir.events import NotifyOp, WaitCmp


def test_a_race_is_shown_by_a_short_execution(two_phase):
    trace = two_phase(2, second_row=0).trace()
    race, _ = judge(trace).races
    assert explain(trace, race) == (
        "run through kernel.py:13, rank 1, event 2 (notify)",
        "run through kernel.py:4, rank 0, event 3 (wait)",
        "run through kernel.py:20, rank 1, event 9 (wait)",
        "then kernel.py:8, rank 0, event 7 (store) and kernel.py:21, rank 1, event 10 "
        "(remote_load) may come in either order, on result[0, 0:8] of rank 0",
    )


def test_steps_that_a_race_does_not_need_are_left_out(sketch):
    program = sketch(3)
    program.ranks[2].notify(1)
    program.ranks[0].copy("x", "y")
    for peer in (0, 1):
        program.ranks[peer].store(program.ranks[peer].fill(8, 0), "x", 0)
    shared = program.ranks[0].region("x")
    program.ranks[1].events[-1] = type(program.ranks[1].events[-1])(
        tile=program.ranks[1].events[-1].tile, region=shared
    )
    trace = program.trace()
    first, *_ = judge(trace).races
    assert explain(trace, first) == (
        "then kernel.py:1, rank 0, event 0 (load) and rank 1, event 1 (store) may come "
        "in either order, on x[0, 0:8]",
    )


def test_a_deadlock_shows_what_each_rank_sees(sketch):
    program = sketch(3)
    for rank in program.ranks[1:]:
        rank.notify(0, 0, 0)
    program.ranks[0].wait(0, 0, 1, WaitCmp.EQ)
    trace = program.trace()
    assert explain(trace, judge(trace).deadlock)[-1] == (
        "kernel.py:1, rank 0, event 0 (wait) blocks: signal[0, 0] is 2, wanted Eq(1)"
    )


def test_an_execution_in_which_the_order_matters_is_kept(sketch):
    program = sketch(3)
    program.ranks[1].notify(0, 0, 0, value=2, op=NotifyOp.SET)
    program.ranks[2].notify(0, 0, 0, value=1, op=NotifyOp.SET)
    program.ranks[0].wait(0, 0, 2)
    trace = program.trace()
    assert explain(trace, judge(trace).deadlock) == (
        "run through kernel.py:11, rank 1, event 0 (notify)",
        "run through kernel.py:21, rank 2, event 0 (notify)",
        "kernel.py:1, rank 0, event 0 (wait) blocks: signal[0, 0] is 1, wanted Ge(2)",
    )
