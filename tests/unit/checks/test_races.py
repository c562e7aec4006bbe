"""Races beyond the cases."""

from __future__ import annotations

from allreduce_gen.checks import check_trace
from allreduce_gen.spec import DType


def test_two_ranks_that_write_the_same_bytes(programs, kinds) -> None:
    def script(me) -> None:
        me.at(10).put(me.load("x", 0, 8), 0, "data", 0)
        me.store(me.load("x", 0, 8), "y", 0)

    findings = check_trace(programs.write(3, 8, script), collective=None)
    assert kinds(findings) == ["AR403"]
    assert findings[0].message == (
        "rank 0 and rank 1 may write data[0, 0:8] of rank 0 in either order"
    )
    assert "3 pairs of ranks, among ranks 0, 1 and 2" in findings[0].notes[1].text


def test_writes_side_by_side_do_not_race(programs) -> None:
    def script(me) -> None:
        me.at(10).put(me.load("x", 0, 8), 0, "data", 8 * me.rank)
        me.store(me.load("x", 0, 8), "y", 0)

    trace = programs.write(3, 8, script, windows={"data": (1, 24)})
    assert check_trace(trace, collective=None) == ()


def test_an_atomic_add_races_with_a_read(programs, kinds) -> None:
    def script(me) -> None:
        if me.rank:
            me.at(10).put(me.load("x", 0, 8), 0, "data", 0, atomic=True)
        else:
            me.at(20).store(me.load("data", 0, 8), "y", 0)

    trace = programs.write(2, 8, script, dtype=DType.INT32)
    assert "AR401" in kinds(check_trace(trace, collective=None)) or "AR402" in kinds(
        check_trace(trace, collective=None)
    )


def test_blocks_of_one_rank_are_agents_of_their_own(programs, kinds) -> None:
    """Two blocks a rank, each with half of the data; row 2 * round + block."""

    def script(shared_row: bool):
        def write(me) -> None:
            start = 8 * me.block
            row = 0 if shared_row else me.block
            me.at(11).store(me.load("x", start, 8), "data", start)
            me.barrier(row, line=20)
            both = me.combine(me.get(0, "data", start, 8), me.get(1, "data", start, 8))
            me.at(30).store(both, "y", start)

        return write

    assert check_trace(programs.write(2, 16, script(False), blocks=2)) == ()
    shared = check_trace(programs.write(2, 16, script(True), blocks=2))
    assert "AR401" in kinds(shared)


def test_findings_come_in_the_same_order_each_time(programs) -> None:
    trace = programs.two_phase(4, rows=(0, 0))
    assert check_trace(trace) == check_trace(trace)
