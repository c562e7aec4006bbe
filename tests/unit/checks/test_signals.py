"""Signals that order nothing, or less than they seem to."""

from __future__ import annotations

from allreduce_gen.checks import Analysis, check_signals, check_trace
from allreduce_gen.diagnostics import format_diagnostic


def test_the_text_of_a_reused_slot(programs) -> None:
    finding = check_trace(programs.two_phase(4, rows=(0, 0)))[0]
    assert format_diagnostic(finding).splitlines() == [
        "error[AR303] signal-slot-reused: barrier round 1 waits for slot [0, 1] >= 1, "
        "which round 0 has already satisfied",
        "  --> kernel.py:41, rank 0, event 19 (wait)",
        "   = first use: kernel.py:21, rank 0, event 5 (wait): >= 1",
        "   = consequence: rank 0 may read result[0, 16:32] of rank 1 before it is "
        "stored (AR401)",
        "   = help: give each barrier round its own signal row, or wait for >= 2",
        "   = more: allreduce-gen explain AR303",
    ]


def test_reuse_that_no_race_follows_is_a_warning(programs, kinds) -> None:
    def again(me) -> None:
        me.barrier(0, line=60)

    assert kinds(check_trace(programs.mesh(3, after=again))) == ["(AR303)"]


def test_a_notify_that_nobody_awaits(programs, kinds) -> None:
    def script(me) -> None:
        me.at(20).notify(1 - me.rank, 0, me.rank)

    findings = list(check_signals(Analysis(programs.write(2, 8, script))))
    assert kinds(findings) == ["(AR302)"]
    assert findings[0].message == (
        "rank 1 notifies slot [0, 1] of rank 0, and no wait looks at it"
    )


def test_a_notify_to_oneself_need_not_be_awaited(programs) -> None:
    trace = programs.write(2, 8, lambda me: me.at(20).notify(me.rank, 0, 0))
    assert list(check_signals(Analysis(trace))) == []


def test_a_wait_loop_short_of_a_rank_without_harm_is_a_warning(programs, kinds) -> None:
    def after(me) -> None:
        me.notify_all(1, line=60)
        for peer in me.at(61).peers[:-1]:
            me.wait(1, peer)

    assert kinds(check_trace(programs.mesh(4, after=after))) == ["(AR305)"]
