"""What is refused before a run starts."""

import dataclasses

import pytest

from allreduce_gen.diagnostics import codes
from allreduce_gen.engines.simulator import simulate
from allreduce_gen.errors import ExecutionError
from allreduce_gen.ir.events import Load, Store
from allreduce_gen.spec import DType


def faults_of(program):
    with pytest.raises(ExecutionError) as caught:
        simulate(program.trace(), {})
    return caught.value.diagnostics


@pytest.mark.parametrize("peer", [-1, 4])
def test_a_peer_that_does_not_exist(sketch, peer):
    program = sketch(4)
    rank = program.ranks[3]
    rank.remote_load("data", peer)
    rank.remote_store(rank.fill(8, 1), "data", peer)
    rank.notify(peer)
    findings = faults_of(program)
    assert [one.code for one in findings] == [codes.AR404] * 3
    assert findings[0].message == (
        f"remote_load goes to peer {peer}, but ranks are 0 to 3"
    )
    assert [(one.location.rank, one.location.event) for one in findings] == [
        (3, 0),
        (3, 2),
        (3, 3),
    ]


@pytest.mark.parametrize(("at", "elems"), [(-1, 4), (5, 4), (8, 1)])
def test_a_region_outside_its_view(sketch, at, elems):
    program = sketch(2)
    program.ranks[1].load("data", at, elems)
    (finding,) = faults_of(program)
    assert finding.code is codes.AR404
    assert finding.message.endswith("but data has shape [1, 8]")
    assert finding.location.line == 11


def test_a_slot_outside_the_signal(sketch):
    program = sketch(2, slots=(1, 2))
    program.ranks[0].notify(1, row=1)
    program.ranks[0].wait(0, 2)
    assert [one.message for one in faults_of(program)] == [
        "notify of signal[1, 0], but signal has shape [1, 2]",
        "wait of signal[0, 2], but signal has shape [1, 2]",
    ]


def test_a_view_that_is_larger_than_its_buffer(sketch):
    program = sketch(2)
    program.buffers["data"] = dataclasses.replace(program.buffers["data"], nbytes=8)
    program.ranks[0].load("data")
    (finding,) = faults_of(program)
    assert finding.code is codes.AR404
    assert finding.message == (
        "load of data[0, 0:8] ends at byte 32, but buffer data has 8 bytes"
    )


def test_a_tile_of_another_type_than_its_view(sketch):
    program = sketch(1)
    rank = program.ranks[0]
    tile = rank.tile(8, dtype=DType.FP16)
    rank.add(Load(tile=tile, region=rank.region("data")))
    rank.add(Store(tile=tile, region=rank.region("data")))
    findings = faults_of(program)
    assert [one.code for one in findings] == [codes.AR505] * 2
    assert findings[1].message == "store moves a fp16 tile, but data holds fp32"


def test_a_cast_mode_that_is_not_known(sketch):
    program = sketch(1)
    rank = program.ranks[0]
    rank.cast(rank.fill(8, 1), DType.FP16, "odd")
    (finding,) = faults_of(program)
    assert (finding.code, finding.message) == (
        codes.AR703,
        "cast mode 'odd' is not known",
    )
