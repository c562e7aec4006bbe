"""What is touched must be there and be of the right type."""

from __future__ import annotations

import dataclasses

from allreduce_gen.checks import Analysis, check_bounds, check_trace
from allreduce_gen.ir.memory import Buffer
from allreduce_gen.spec import DType


def test_a_row_that_the_signal_lacks(programs, kinds) -> None:
    def script(me) -> None:
        programs.stage_in(me, 32)
        me.barrier(1, line=20)
        me.at(30).store(
            me.combine(me.get(0, "data", 0, 32), me.get(1, "data", 0, 32)), "y", 0
        )

    findings = check_trace(programs.write(2, 32, script, rows=1))
    assert kinds(findings) == ["AR404", "AR404", "AR504"]
    assert findings[0].message == (
        "notify of rank 0 touches signal[1, 0], outside signal of shape [1, 2]"
    )
    assert findings[2].message == (
        "signal signal has shape [1, 2], and slots up to [1, 1] are used"
    )
    assert "shape [2, 2]" in findings[2].help


def test_a_negative_slot(programs, kinds) -> None:
    def script(me) -> None:
        me.at(20).notify(0, 0, -1)

    findings = list(check_bounds(Analysis(programs.write(1, 8, script))))
    assert kinds(findings) == ["AR404"]


def test_a_view_larger_than_its_buffer(programs, kinds) -> None:
    def script(me) -> None:
        me.at(20).notify(0, 0, 0)
        me.at(21).wait(0, 0)

    trace = programs.write(1, 8, script, signal=(4, 1))
    small = Buffer(name="signal", kind=trace.buffers[-1].kind, nbytes=4)

    def shrink(event):
        view = dataclasses.replace(event.slot.view, buffer=small)
        return dataclasses.replace(
            event, slot=dataclasses.replace(event.slot, view=view)
        )

    agent = trace.agents[0]
    events = tuple(shrink(event) for event in agent.events)
    trace = dataclasses.replace(
        trace,
        buffers=(*trace.buffers[:-1], small),
        agents=(dataclasses.replace(agent, events=events),),
    )
    findings = list(check_bounds(Analysis(trace)))
    assert kinds(findings) == ["AR503"]
    assert findings[0].message == ("signal needs 16 bytes, and its buffer signal has 4")


def test_element_types_that_differ(programs, kinds) -> None:
    def script(me) -> None:
        tile = me.at(10).load("x", 0, 16)
        half = me.at(11).fill(16, 0.0, DType.FP16)
        me.at(12).combine(tile, half)
        me.at(13).store(half, "data", 0)
        me.at(14).notify(0, 0, 0)

    trace = programs.write(1, 16, script, signal_dtype=DType.FP32)
    findings = list(check_bounds(Analysis(trace)))
    assert kinds(findings) == ["AR505"] * 3
    assert [one.message for one in findings] == [
        "combine of rank 0 combines FP32 and FP16 into FP32",
        "store of rank 0 stores to data, which is FP32, with a tile of FP16",
        "notify of rank 0 uses signal, which is FP32: signals are INT32",
    ]
