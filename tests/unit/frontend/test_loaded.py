"""Scalars that are read from memory, and what may depend on them."""

from __future__ import annotations

import pytest

from allreduce_gen.ir.events import Cast, Combine, Fill, Read, Write, event_kind


def test_read_and_written(trace) -> None:
    found = trace("""
        seen = pl.read(signal, [1, 2])
        pl.write(signal, [0, 3], seen)
    """)
    read, write = found.trace.agents[0].events
    assert isinstance(read, Read)
    assert isinstance(write, Write)
    assert (read.region.offsets, write.region.offsets) == ((1, 2), (0, 3))
    assert read.tile == write.tile
    assert read.tile.is_scalar
    assert event_kind(read) == "read"


def test_computed_with(trace) -> None:
    found = trace("""
        one = pl.read(x, [0, 0])
        seen = pl.read(signal, [0, 0])
        pl.write(y, [0, 0], pl.cast(seen, pl.FP32))
        pl.write(y, [0, 1], one)
    """)
    assert [type(event) for event in found.trace.agents[0].events] == [
        Read,
        Read,
        Cast,
        Write,
        Write,
    ]


def test_sums_stay_in_registers(trace) -> None:
    found = trace("""
        seen = pl.read(signal, [0, 0])
        total = seen + pl.read(signal, [0, 1])
        pl.write(signal, [0, 0], total)
    """)
    events = found.trace.agents[0].events
    assert isinstance(events[2], Combine)
    assert events[2].tile.is_scalar


def test_a_number_is_written_as_a_constant(trace) -> None:
    fill, write = trace("pl.write(signal, [0, 0], me)").trace.agents[3].events
    assert isinstance(fill, Fill)
    assert (fill.value, write.tile) == (3.0, fill.tile)


@pytest.mark.parametrize(
    "use",
    [
        "if seen == 1:\n    pass",
        "while seen < 1:\n    pass",
        "for i in pl.range(seen):\n    pass",
        "tile = pl.load(x, [0, seen], [1, 16])",
        "tile = pl.load(x, [0, seen + 1], [1, 16])",
        "tile = pld.tile.remote_load(data, seen, [0, 0], [1, 16])",
        "tile = pl.mul(pl.load(x, [0, 0], [1, 16]), pl.cast(seen, pl.FP32))",
        "pld.system.notify(signal, seen, [0, 0], 1, op=pld.NotifyOp.Set)",
        "pld.system.notify(signal, me, [0, 0], seen, op=pld.NotifyOp.Set)",
        "pld.system.wait(signal, [0, 0], seen, cmp=pld.WaitCmp.Ge)",
        "at = seen % 4",
        "at = -seen",
    ],
)
def test_nothing_else_may_depend_on_one(refuse, first_line: int, use: str) -> None:
    found = refuse(f"seen = pl.read(signal, [0, 0])\n{use}")
    assert found.code.id == "AR703"
    assert found.location.line == first_line + 1
    assert use.partition("\n")[0] in found.message
    assert "read from memory" in found.message


def test_element_types_must_fit(refuse) -> None:
    found = refuse("pl.write(signal, [0, 0], 5)")
    assert "a scalar of INDEX goes to a tensor of INT32" in found.message
    assert "pl.cast(value, pl.INT32)" in found.help
