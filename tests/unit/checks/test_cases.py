"""Cases that people hit in public, by id: the faulty and the accepted form."""

from __future__ import annotations

import pytest

from allreduce_gen.checks import check_trace
from allreduce_gen.ir.calls import join_calls, repeat_calls
from allreduce_gen.ir.events import NotifyOp

CALLS = (1, 2, 3)


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_k01_one_signal_row_for_both_barriers(programs, kinds, num_ranks) -> None:
    findings = check_trace(programs.two_phase(num_ranks, rows=(0, 0)))
    assert kinds(findings) == ["AR303", "AR401"]
    reuse, race = findings
    assert (reuse.location.file, reuse.location.line) == ("kernel.py", 41)
    assert reuse.notes[0].location.line == 21
    assert race.message == (
        "rank 0 may read result[0, 16:32] of rank 1 before it is stored"
    )
    assert (race.location.line, race.notes[0].location.line) == (50, 33)
    assert race.location.rank == 0
    assert race.notes[0].location.rank == 1


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_k02_one_row_with_rising_thresholds_is_sound(programs, num_ranks) -> None:
    trace = programs.two_phase(num_ranks, rows=(0, 0), expected=(1, 2))
    assert check_trace(trace) == ()


@pytest.mark.parametrize("num_ranks", [2, 4])
def test_k03_barrier_missing(programs, kinds, num_ranks) -> None:
    findings = check_trace(programs.mesh(num_ranks, barrier=lambda me: None))
    assert kinds(findings) == ["AR401"]
    pairs = num_ranks * (num_ranks - 1)
    assert f"{pairs} pairs of ranks" in findings[0].notes[1].text


def test_k03_one_peer_skipped_in_the_wait_loop(programs, kinds) -> None:
    def barrier(me) -> None:
        me.notify_all(0, line=20)
        for peer in me.at(21).peers[:-1]:
            me.wait(0, peer)

    missed, race = check_trace(programs.mesh(4, barrier=barrier))
    assert kinds([missed, race]) == ["AR305", "AR401"]
    assert missed.message == "rank 0 waits for every peer but rank 3"
    assert race.message == (
        "rank 0 may read data[0, 0:64] of rank 3 before it is stored"
    )


def test_k04_notify_before_the_store(programs, kinds) -> None:
    def script(me) -> None:
        staged = me.at(10).load("x", 0, 32)
        me.notify_all(0, line=20)
        me.at(11).store(staged, "data", 0)
        me.wait_all(0, line=21)
        both = me.combine(me.get(0, "data", 0, 32), me.get(1, "data", 0, 32))
        me.store(both, "y", 0)

    assert kinds(check_trace(programs.write(2, 32, script))) == ["AR401"]


def test_k04_remote_store_then_notify_is_sound(programs) -> None:
    def script(me) -> None:
        staged = me.at(10).load("x", 0, 32)
        me.put(staged, 1 - me.rank, "data", 0)
        me.barrier(0, line=20)
        me.store(me.combine(staged, me.load("data", 0, 32)), "y", 0)

    assert check_trace(programs.write(2, 32, script)) == ()


def test_k05_second_call_on_signals_left_at_1(programs, kinds) -> None:
    findings = check_trace(repeat_calls(programs.two_phase(4), 2))
    assert {"AR303", "AR401", "AR402"} == set(kinds(findings))
    assert all(one.message.startswith("in call 2, ") for one in findings)
    assert check_trace(repeat_calls(programs.two_phase(4), 2, fresh_windows=True)) == ()


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_k05_expecting_the_call_number_is_sound(programs, num_ranks) -> None:
    calls = [programs.two_phase(num_ranks, expected=(k, k)) for k in CALLS]
    assert check_trace(join_calls(calls)) == ()


def _clear(value: int):
    def epilogue(me) -> None:
        for peer in me.at(60).peers:
            for row in (0, 1):
                me.notify(me.rank, row, peer, value)

    return epilogue


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_k05_clearing_ones_own_slots_is_sound(programs, num_ranks) -> None:
    trace = programs.two_phase(num_ranks, epilogue=_clear(-1))
    assert check_trace(repeat_calls(trace, 3)) == ()


def test_k05_clearing_too_much_blocks_the_second_call(programs, kinds) -> None:
    trace = programs.two_phase(4, epilogue=_clear(-4))
    first, second = check_trace(repeat_calls(trace, 2))
    assert kinds([first, second]) == ["AR301", "AR301"]
    assert first.message == (
        "in call 2, rank 0 waits for slot [0, 1] >= 1 and sees -2; all notifies "
        "together bring it to -2"
    )


def _epoch(call: int):
    return lambda me: me.barrier(0, line=20, expected=call)


def _exit(call: int):
    return lambda me: me.barrier(1, line=60, expected=call)


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_k06_one_barrier_a_call_and_one_data_slot(programs, kinds, num_ranks) -> None:
    calls = [programs.mesh(num_ranks, barrier=_epoch(k)) for k in CALLS]
    findings = check_trace(join_calls(calls))
    assert kinds(findings) == ["AR402"]
    assert findings[0].message == (
        f"in call 2, rank 0 may overwrite data[0, 0:{16 * num_ranks}] of rank 0 "
        "before rank 1 reads it"
    )


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_k06_a_second_barrier_a_call_is_sound(programs, num_ranks) -> None:
    calls = [programs.mesh(num_ranks, barrier=_epoch(k), after=_exit(k)) for k in CALLS]
    assert check_trace(join_calls(calls)) == ()


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_k06_two_rotating_slots_are_sound(programs, num_ranks) -> None:
    size = 16 * num_ranks

    def call(number: int):
        row = number % 2

        def script(me) -> None:
            me.at(11).store(me.load("x", 0, size), "data", 0, row)
            me.barrier(0, line=20, expected=number)
            total = me.at(30).get(0, "data", 0, size, row)
            for peer in range(1, num_ranks):
                total = me.combine(total, me.get(peer, "data", 0, size, row))
            me.at(32).store(total, "y", 0)

        return programs.write(num_ranks, size, script, windows={"data": (2, size)})

    assert check_trace(join_calls([call(k) for k in CALLS])) == ()


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_k07_sum_written_back_with_no_barrier(programs, kinds, num_ranks) -> None:
    findings = check_trace(programs.mesh(num_ranks, target="data"))
    assert kinds(findings) == ["AR402"]
    assert (findings[0].location.line, findings[0].notes[0].location.line) == (32, 30)


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_k07_two_phase_in_place(programs, kinds, num_ranks) -> None:
    assert check_trace(programs.two_phase(num_ranks, target="data")) == ()
    calls = [
        programs.two_phase(num_ranks, target="data", expected=(k, k)) for k in CALLS
    ]
    assert kinds(check_trace(join_calls(calls))) == ["AR402"]


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_k08_ring_with_one_row_for_all_rounds(programs, kinds, num_ranks) -> None:
    findings = check_trace(programs.ring(num_ranks, row_of=lambda step: 0))
    assert kinds(findings) == ["AR303", "AR401", "AR402"]
    assert check_trace(programs.ring(num_ranks)) == ()


@pytest.mark.parametrize("num_ranks", [2, 4, 8])
def test_k09_ring_with_neighbour_handshakes_is_sound(programs, num_ranks) -> None:
    assert check_trace(programs.ring(num_ranks)) == ()


@pytest.mark.parametrize("num_ranks", [2, 4])
def test_k10_ring_called_again(programs, kinds, num_ranks) -> None:
    again = check_trace(repeat_calls(programs.ring(num_ranks), 3))
    assert set(kinds(again)) == {"AR303", "AR401", "AR402"}


def _ring_call(programs, num_ranks: int, number: int, *, returns: bool):
    """A ring that waits for the call's number on each round's slot."""
    size, steps = 16 * num_ranks, 2 * num_ranks - 2

    def script(me) -> None:
        right, left = me.peers[0], me.peers[-1]
        programs.stage_in(me, size)
        for step in range(steps):
            me.at(20).notify(right, step, me.rank)
            me.at(21).wait(step, left, number)
            gathers = step >= num_ranks - 1
            back = step - (num_ranks - 1) if gathers else step + 1
            start = (me.rank - back) % num_ranks * 16
            got = me.at(31).get(left, "data", start, 16)
            if not gathers:
                got = me.combine(me.load("data", start, 16), got)
            me.at(33).store(got, "data", start)
        me.at(50).store(me.load("data", 0, size), "y", 0)
        if returns:
            me.barrier(steps, line=60, expected=number)

    return programs.write(num_ranks, size, script, rows=steps + 1)


@pytest.mark.parametrize("num_ranks", [2, 4])
def test_k10_ring_with_a_barrier_at_the_end_of_each_call(
    programs, kinds, num_ranks
) -> None:
    open_calls = [_ring_call(programs, num_ranks, k, returns=False) for k in CALLS]
    assert "AR402" in kinds(check_trace(join_calls(open_calls)))
    closed = [_ring_call(programs, num_ranks, k, returns=True) for k in CALLS]
    assert check_trace(join_calls(closed)) == ()


def _cell(op: NotifyOp):
    """A barrier on one cell that every peer changes."""

    def barrier(me) -> None:
        for peer in me.at(20).peers:
            me.notify(peer, 0, 0, 1, op)
        me.at(21).wait(0, 0, me.num_ranks - 1)

    return barrier


def test_k11_set_into_one_cell(programs, kinds) -> None:
    assert check_trace(programs.mesh(2, barrier=_cell(NotifyOp.SET))) == ()
    findings = check_trace(programs.mesh(4, barrier=_cell(NotifyOp.SET)))
    assert kinds(findings) == ["AR301", "AR307"]
    assert findings[0].message == (
        "rank 0 waits for slot [0, 0] >= 3 and sees 1; all notifies together bring it "
        "to 1"
    )
    assert [note.label for note in findings[0].notes] == ["blocked"] * 3


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_k11_atomic_adds_into_one_cell_are_sound(programs, num_ranks) -> None:
    trace = programs.mesh(num_ranks, barrier=_cell(NotifyOp.ATOMIC_ADD))
    assert check_trace(trace) == ()


def test_k12_set_with_one_writer_a_slot(programs, kinds) -> None:
    def barrier(me) -> None:
        for peer in me.at(20).peers:
            me.notify(peer, 0, me.rank, 1, NotifyOp.SET)
        me.wait_all(0, line=21)

    assert kinds(check_trace(programs.mesh(4, barrier=barrier))) == ["(AR310)"]


def _own_slot(me) -> None:
    me.notify_all(0, line=20)
    me.at(21).wait(0, me.rank)


def _wait_first(me) -> None:
    me.wait_all(0, line=21)
    me.notify_all(0, line=20)


def _set_zero(me) -> None:
    for peer in me.at(20).peers:
        me.notify(peer, 0, me.rank, 0, NotifyOp.SET)
    me.wait_all(0, line=21)


def _expects_two(me) -> None:
    me.barrier(0, line=20, expected=2)


@pytest.mark.parametrize("num_ranks", [2, 4])
@pytest.mark.parametrize(
    ("barrier", "code", "seen"),
    [
        (_own_slot, "AR301", "slot [0, 0] >= 1 and sees 0"),
        (_wait_first, "AR304", "slot [0, 1] >= 1 and sees 0"),
        (_set_zero, "AR301", "slot [0, 1] >= 1 and sees 0"),
        (_expects_two, "AR301", "slot [0, 1] >= 2 and sees 1"),
    ],
)
def test_k13_waits_that_nobody_satisfies(
    programs, kinds, num_ranks, barrier, code, seen
) -> None:
    findings = check_trace(programs.mesh(num_ranks, barrier=barrier))
    errors = [one for one in findings if one.is_error]
    assert kinds(errors) == [code]
    assert f"rank 0 waits for {seen}" in errors[0].message
    assert errors[0].location.line == 21
    blocked = [note for note in errors[0].notes if note.label == "blocked"]
    assert [note.location.rank for note in blocked] == list(range(1, num_ranks))


def test_k14_a_second_set_on_one_slot(programs, kinds) -> None:
    def script(me) -> None:
        programs.stage_in(me, 32)
        for value, line in ((1, 20), (2, 40)):
            me.at(line).notify(1 - me.rank, 0, 0, value, NotifyOp.SET)
            me.at(line + 1).wait(0, 0, value)
        both = me.combine(me.get(0, "data", 0, 32), me.get(1, "data", 0, 32))
        me.store(both, "y", 0)

    findings = check_trace(programs.write(2, 32, script))
    assert kinds(findings) == ["(AR311)"]
    assert findings[0].message == "rank 0 Sets slot [0, 0] of rank 1 again"


def _gather_from(offset, peer_of=lambda peer: peer):
    """Reduce-scatter that reads `offset(rank)` of `peer_of(peer)`."""

    def script(me) -> None:
        me.at(11).store(me.load("x", 0, 64), "data", 0)
        me.barrier(0, line=20)
        total = None
        for peer in range(4):
            part = me.at(30).get(peer_of(peer), "data", offset(me.rank), 16)
            total = part if total is None else me.at(31).combine(total, part)
        me.at(32).store(total, "result", me.rank * 16)
        me.barrier(1, line=40)
        for owner in range(4):
            part = me.at(50).get(owner, "result", owner * 16, 16)
            me.at(51).store(part, "y", owner * 16)

    return script


def test_k22_offset_shifted_by_one(programs, kinds) -> None:
    shifted = _gather_from(lambda rank: rank * 16 + 1)
    bounds, wrong = check_trace(programs.write(4, 64, shifted))
    assert kinds([bounds, wrong]) == ["AR404", "AR408"]
    assert bounds.message == (
        "remote_load of rank 3 touches data[0, 49:65], outside data of shape [1, 64]"
    )
    assert wrong.message == (
        "y[0:48] of rank 0 holds x[1:49] of rank 0 where x[0:48] of rank 0 belongs"
    )


@pytest.mark.parametrize(
    ("offset", "peer_of", "message"),
    [
        (64, 0, "remote_load of rank 0 touches data[0, 64:80], outside data of shape"),
        (0, 1, "remote_load of rank 0 names peer 4; there are ranks 0 to 3"),
        (0, -1, "remote_load of rank 0 names peer -1; there are ranks 0 to 3"),
    ],
)
def test_k22_out_of_range(programs, kinds, offset, peer_of, message) -> None:
    script = _gather_from(lambda rank: offset or rank * 16, lambda peer: peer + peer_of)
    findings = check_trace(programs.write(4, 64, script))
    assert kinds(findings) == ["AR404"]
    assert findings[0].message.startswith(message)


def test_k26_mesh_that_starts_from_its_own_slice(programs, kinds) -> None:
    (finding,) = check_trace(programs.mesh(4, ascending=False))
    assert kinds([finding]) == ["(AR409)"]
    assert [note.text for note in finding.notes[:2]] == [
        "rank 0: ((x0 + x1) + x2) + x3",
        "rank 1: ((x1 + x2) + x3) + x0",
    ]
    assert check_trace(programs.mesh(4)) == ()
    assert check_trace(programs.mesh(2, ascending=False)) == ()  # a + b is b + a


def _two_phase_with(programs, num_ranks: int, notify_peers):
    def script(me) -> None:
        programs.stage_in(me, 16 * num_ranks)
        for peer in notify_peers(me.at(20)):
            me.notify(peer, 0, me.rank)
        me.wait_all(0, line=21)
        programs.reduce_scatter(me, 16)
        me.barrier(1, line=40)
        programs.all_gather(me, 16)

    return programs.write(num_ranks, 16 * num_ranks, script)


@pytest.mark.parametrize("num_ranks", [3, 4])
def test_k32_a_notify_removed(programs, kinds, num_ranks) -> None:
    trace = _two_phase_with(
        programs, num_ranks, lambda me: me.peers[:-1] if me.rank == 1 else me.peers
    )
    (finding,) = check_trace(trace)
    assert kinds([finding]) == ["AR305"]
    assert finding.message == (
        "rank 1 notifies every peer but rank 0, which waits for it for ever"
    )
    assert finding.location.line == 20
    assert "rank 0 waits for slot [0, 1] >= 1 and sees 0" in finding.notes[0].text


@pytest.mark.parametrize("num_ranks", [3, 4])
def test_k32_one_peer_notified_twice_and_another_never(
    programs, kinds, num_ranks
) -> None:
    trace = _two_phase_with(
        programs,
        num_ranks,
        lambda me: [2 if peer == 0 and me.rank == 1 else peer for peer in me.peers],
    )
    missed, surplus = check_trace(trace)
    assert kinds([missed, surplus]) == ["(AR302)", "AR305"]
    assert missed.location.rank == 1
    assert surplus.message == (
        "rank 1 notifies slot [0, 1] of rank 2, whose notifies add up to 2; no wait "
        "wants more than 1"
    )
