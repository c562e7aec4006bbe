"""Waits beyond the cases: equality, Sets, and what is not decided."""

from __future__ import annotations

import pytest

from allreduce_gen.checks import Analysis, check_deadlock, check_trace
from allreduce_gen.ir.calls import join_calls
from allreduce_gen.ir.events import NotifyOp, WaitCmp


def _pair(programs, first, second):
    """Two ranks that only signal."""
    return programs.write(2, 8, lambda me: (first, second)[me.rank](me))


def _findings(trace):
    return tuple(check_deadlock(Analysis(trace)))


def test_an_equality_that_one_notify_meets_is_sound(programs) -> None:
    def barrier(me) -> None:
        me.notify_all(0, line=20)
        for peer in me.at(21).peers:
            me.wait(0, peer, 1, WaitCmp.EQ)

    assert check_trace(programs.mesh(4, barrier=barrier)) == ()


def test_an_equality_that_a_fast_peer_runs_past(programs, kinds) -> None:
    def call(number: int):
        def barrier(me) -> None:
            me.notify_all(0, line=20)
            for peer in me.at(21).peers:
                me.wait(0, peer, number, WaitCmp.EQ)

        return programs.mesh(3, barrier=barrier)

    findings = check_trace(join_calls([call(1), call(2)]))
    assert "AR306" in kinds(findings)
    passed = next(one for one in findings if one.code.id == "AR306")
    assert passed.message == (
        "in call 1, rank 1 waits for slot [0, 0] == 1, which the slot can run past: it "
        "can be at 2 before the rank looks"
    )


def test_a_set_that_wipes_out_an_add(programs, kinds) -> None:
    def script(me) -> None:
        if me.rank == 0:
            me.at(21).wait(0, 0, 2)
        else:
            op = (NotifyOp.SET, NotifyOp.ATOMIC_ADD)[me.rank - 1]
            me.at(20).notify(0, 0, 0, 1, op)

    findings = _findings(programs.write(3, 8, script))
    assert kinds(findings) == ["AR309"]


def test_a_set_that_falls(programs, kinds) -> None:
    def sender(me) -> None:
        me.at(20).notify(1, 0, 0, 1, NotifyOp.SET)
        me.at(21).notify(1, 0, 0, 0, NotifyOp.SET)

    trace = _pair(programs, sender, lambda me: me.at(30).wait(0, 0))
    assert "AR309" in kinds(_findings(trace))


def test_a_slot_lowered_by_a_peer_is_not_decided(programs, kinds) -> None:
    def sender(me) -> None:
        me.at(20).notify(1, 0, 0, 1)
        me.at(21).notify(1, 0, 0, -1)

    trace = _pair(programs, sender, lambda me: me.at(30).wait(0, 0))
    assert "AR309" in kinds(_findings(trace))


def test_a_slot_written_as_data_is_not_decided(programs, kinds) -> None:
    def sender(me) -> None:
        me.at(19).put(me.load("signal", 0, 2), 1, "signal", 0)
        me.at(20).notify(1, 0, 0, 1)

    trace = _pair(programs, sender, lambda me: me.at(30).wait(0, 0))
    assert "AR309" in kinds(_findings(trace))


def test_a_loop_too_long_to_unroll_is_not_decided(programs, kinds) -> None:
    def body(me) -> None:
        me.store(me.load("data", 0, 8), "data", 8)

    trace = programs.write(1, 1 << 25, lambda me: me.at(10).repeat(1 << 22, 8, body))
    assert kinds(_findings(trace)) == ["AR309"]


@pytest.mark.parametrize("num_ranks", [3, 5])
def test_a_cycle_names_who_is_in_it(programs, kinds, num_ranks) -> None:
    """Each rank waits for its left neighbour before it notifies its right one."""

    def script(me) -> None:
        me.at(20).wait(0, 0)
        me.at(21).notify(me.peers[0], 0, 0)

    (finding,) = _findings(programs.write(num_ranks, 8, script))
    assert finding.code.id == "AR304"
    names = ", ".join(str(rank) for rank in range(num_ranks - 1))
    assert finding.message.startswith(f"ranks {names} and {num_ranks - 1} wait for")


def test_ranks_behind_a_hopeless_one_are_named_with_it(programs, kinds) -> None:
    def script(me) -> None:
        if me.rank == 0:
            me.at(20).wait(0, 0)
            me.at(21).notify(1, 0, 1)
        else:
            me.at(30).wait(0, 1)

    (finding,) = _findings(programs.write(2, 8, script))
    assert finding.code.id == "AR301"
    assert finding.notes[0].label == "blocked behind it"
    assert finding.notes[0].text == "rank 1 waits for slot [0, 1] >= 1 and sees 0"
