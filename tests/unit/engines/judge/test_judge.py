"""Verdicts on programs whose faults are known."""

import pytest

from allreduce_gen.engines.judge import judge
from allreduce_gen.ir.events import NotifyOp, WaitCmp


def race_events(verdict):
    return {
        ((race.first[0].rank, race.first[1]), (race.second[0].rank, race.second[1]))
        for race in verdict.races
    }


@pytest.mark.parametrize("num_ranks", [2, 3, 4, 8])
def test_two_phase_with_a_row_for_each_barrier_is_sound(two_phase, num_ranks):
    verdict = judge(two_phase(num_ranks).trace())
    assert verdict.is_sound
    assert (verdict.races, verdict.deadlock, verdict.undecided) == ((), None, ())


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_one_row_waited_for_once_again_races_on_the_result(two_phase, num_ranks):
    verdict = judge(two_phase(num_ranks, second_row=0).trace())
    assert verdict.deadlock is None
    assert verdict.undecided == ()
    # every rank's store of its chunk, against every other's load of it
    assert len(verdict.races) == num_ranks * (num_ranks - 1)


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_one_row_waited_for_twice_is_sound(two_phase, num_ranks):
    trace = two_phase(num_ranks, second_row=0, second_expected=2).trace()
    assert judge(trace).is_sound


def ring(program, *, with_return=True):
    """One element travels around; each rank waits for its left neighbour only."""
    for rank in program.ranks:
        left = (rank.rank - 1) % program.num_ranks
        right = (rank.rank + 1) % program.num_ranks
        rank.copy("x", "data")
        rank.notify(right, 0)
        rank.wait(0, left)
        rank.store(rank.remote_load("data", left), "result")
        rank.notify(left, 1)
        if with_return:
            rank.wait(1, right)
        rank.store(rank.fill(8, 0), "data")
    return program.trace()


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_neighbour_handshakes_order_a_ring(sketch, num_ranks):
    assert judge(ring(sketch(num_ranks))).is_sound


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_a_ring_without_its_way_back_overwrites_what_is_read(sketch, num_ranks):
    verdict = judge(ring(sketch(num_ranks), with_return=False))
    assert len(verdict.races) == num_ranks
    assert verdict.deadlock is None


def test_order_passes_through_a_third_rank(sketch):
    program = sketch(3)
    writer, relay, reader = program.ranks
    writer.copy("x", "data")
    writer.notify(1)
    relay.wait(0, 0)
    relay.notify(2)
    reader.wait(0, 1)
    reader.remote_load("data", 0)
    assert judge(program.trace()).is_sound


def test_a_notify_before_its_store_races(sketch):
    program = sketch(2)
    writer, reader = program.ranks
    tile = writer.load("x")
    writer.notify(1)
    writer.store(tile, "data")
    reader.wait(0, 0)
    reader.remote_load("data", 0)
    assert race_events(judge(program.trace())) == {((0, 2), (1, 1))}


def test_one_counter_for_all_orders_only_once_it_is_full(sketch):
    for expected, sound in ((2, True), (1, False)):
        program = sketch(3)
        for rank in program.ranks[1:]:
            rank.copy("x", "data")
            rank.notify(0, 0, 0)
        program.ranks[0].wait(0, 0, expected)
        for peer in (1, 2):
            program.ranks[0].remote_load("data", peer)
        assert judge(program.trace()).is_sound is sound


def test_waits_before_notifies_deadlock(sketch):
    program = sketch(2)
    for rank in program.ranks:
        rank.wait(0, 1 - rank.rank)
        rank.notify(1 - rank.rank)
    deadlock = judge(program.trace()).deadlock
    assert [(agent.rank, index) for agent, index in deadlock.blocked] == [
        (0, 0),
        (1, 0),
    ]


def test_an_equality_on_a_counter_that_two_raise_may_be_missed(sketch):
    program = sketch(3)
    for rank in program.ranks[1:]:
        rank.notify(0, 0, 0)
    program.ranks[0].wait(0, 0, 1, WaitCmp.EQ)
    assert judge(program.trace()).deadlock is not None
    program.ranks[0].events.clear()
    program.ranks[0].wait(0, 0, 2, WaitCmp.EQ)
    assert judge(program.trace()).is_sound


def test_a_set_by_several_ranks_hides_their_number(sketch):
    program = sketch(3)
    for rank in program.ranks[1:]:
        rank.notify(0, 0, 0, op=NotifyOp.SET)
    program.ranks[0].wait(0, 0, 2)
    deadlock = judge(program.trace()).deadlock
    assert [(agent.rank, index) for agent, index in deadlock.blocked] == [(0, 0)]


def test_a_set_that_another_overwrites_is_lost_in_some_order(sketch):
    program = sketch(3)
    program.ranks[1].notify(0, 0, 0, value=2, op=NotifyOp.SET)
    program.ranks[2].notify(0, 0, 0, value=1, op=NotifyOp.SET)
    program.ranks[0].wait(0, 0, 2)
    assert judge(program.trace()).deadlock is not None


def test_a_set_with_one_writer_orders(sketch):
    program = sketch(3)
    for rank in program.ranks:
        rank.copy("x", "data")
        for peer in rank.peers():
            rank.notify(peer, op=NotifyOp.SET)
        for peer in rank.peers():
            rank.wait(0, peer)
        for peer in rank.peers():
            rank.remote_load("data", peer)
    assert judge(program.trace()).is_sound


@pytest.mark.parametrize(("credit", "sound"), [(-1, True), (-3, False)])
def test_a_credit_handed_back_serves_the_next_call(sketch, credit, sound):
    program = sketch(3)
    for rank in program.ranks:
        for _ in range(2):
            for peer in rank.peers():
                rank.notify(peer)
            for peer in rank.peers():
                rank.wait(0, peer)
            for peer in rank.peers():
                rank.notify(rank.rank, 0, peer, value=credit)
    verdict = judge(program.trace())
    assert verdict.is_sound is sound
    assert (verdict.deadlock is None) is sound


def test_a_negative_notify_of_a_peer_may_close_a_wait(sketch):
    program = sketch(3)
    program.ranks[1].notify(0, 0, 0)
    program.ranks[2].notify(0, 0, 0, value=-1)
    program.ranks[0].wait(0, 0, 1)
    assert judge(program.trace()).deadlock is not None


def test_atomic_stores_do_not_race_with_each_other(sketch):
    program = sketch(2)
    for rank in program.ranks:
        rank.remote_store(rank.fill(8, 1), "data", 0, atomic=True)
    assert judge(program.trace()).is_sound
    program.ranks[0].load("data")
    assert race_events(judge(program.trace())) == {((0, 2), (1, 1))}


def test_disjoint_bytes_and_host_memory_of_two_ranks(sketch):
    program = sketch(2)
    program.ranks[0].store(program.ranks[0].fill(4, 1), "data", 0)
    program.ranks[1].remote_store(program.ranks[1].fill(4, 1), "data", 0, 4)
    for rank in program.ranks:
        rank.copy("x", "y")
    assert judge(program.trace()).is_sound


def test_a_plain_store_to_a_slot_is_not_decided(sketch):
    program = sketch(2, slots=(1, 8))
    program.ranks[0].wait(0, 1, 0)
    program.buffers["data"] = program.buffers["signal"]
    program.ranks[1].remote_store(program.ranks[1].fill(8, 1), "data", 0)
    assert judge(program.trace()).undecided == (
        "kernel.py:12, rank 1, event 1 (remote_store) writes a signal slot, "
        "and its value is not known",
    )


def test_a_budget_that_runs_out_is_said(two_phase):
    verdict = judge(two_phase(4).trace(), budget=10)
    assert verdict.undecided == ("the budget of 10 states ran out",)
    assert not verdict.is_sound
