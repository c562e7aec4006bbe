"""Loops that name what they carry."""

from __future__ import annotations

import pytest

from allreduce_gen.ir.events import Combine, Load, Repeat, Store, event_kind


def kinds(result) -> list[str]:
    return [event_kind(event) for event in result.trace.agents[0].events]


def test_a_tile_goes_from_round_to_round(trace) -> None:
    found = trace("""
        tile = pl.load(x, [0, 0], [1, 16])
        for step, (total,) in pl.range(3, init_values=(tile,)):
            more = pl.add(total, tile)
            result = pl.yield_(more)
        pl.store(result, [0, 0], y)
    """)
    first, *adds, last = found.trace.agents[0].events
    assert isinstance(first, Load)
    assert all(isinstance(one, Combine) for one in adds)
    assert [one.left for one in adds] == [first.tile, adds[0].tile, adds[1].tile]
    assert isinstance(last, Store)
    assert last.tile == adds[-1].tile


def test_a_tensor_that_stays_the_same_is_one_repeat(trace) -> None:
    found = trace("""
        for at, (out,) in pl.range(0, SIZE, 16, init_values=(y,)):
            tile = pl.load(x, [0, at], [1, 16])
            out = pl.store(tile, [0, at], out)
            stored = pl.yield_(out)
        return stored
    """)
    (repeat,) = found.trace.agents[0].events
    assert isinstance(repeat, Repeat)
    assert repeat.count == 4


def test_numbers_are_what_the_last_round_yields(trace) -> None:
    found = trace("""
        for step, (low, high) in pl.range(3, init_values=(0, 16)):
            last_low, last_high = pl.yield_(high, low)
        tile = pl.load(x, [0, last_low], [1, 16])
        pl.store(tile, [0, last_high], y)
    """)
    load, store = found.trace.agents[0].events
    assert (load.region.offsets, store.region.offsets) == ((0, 16), (0, 0))


def test_no_round_leaves_the_first_values(trace) -> None:
    found = trace("""
        for step, (at,) in pl.range(0, init_values=(32,)):
            last = pl.yield_(at + 1)
        pl.store(pl.load(x, [0, last], [1, 16]), [0, 0], y)
    """)
    assert found.trace.agents[0].events[0].region.offsets == (0, 32)


def test_while_goes_on_as_long_as_its_condition_holds(trace) -> None:
    found = trace("""
        for (at,) in pl.while_(init_values=(0,)):
            pl.cond(at < 40)
            last = pl.yield_(at + 16)
        pl.store(pl.load(x, [0, last], [1, 16]), [0, 0], y)
    """)
    assert found.trace.agents[0].events[0].region.offsets == (0, 48)


def test_branches_yield_what_they_choose(trace) -> None:
    found = trace("""
        if me == 0:
            at = pl.yield_(16)
        else:
            at = pl.yield_(32)
        pl.store(pl.load(x, [0, at], [1, 16]), [0, 0], y)
    """)
    starts = [one.events[0].region.offsets[1] for one in found.trace.agents]
    assert starts == [16, 32, 32, 32]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("for i, (a,) in pl.range(4, init_values=(0,)):\n    pass", "no pl.yield_"),
        (
            "for i, (a,) in pl.range(4, init_values=(0,)):\n"
            "    b = pl.yield_(a)\n    c = 1",
            "no pl.yield_",
        ),
        (
            "for i, (a, b) in pl.range(4, init_values=(0, 1)):\n    c = pl.yield_(a)",
            "1 values are yielded, and 2 are carried",
        ),
        (
            "for i, (a,) in pl.range(4, init_values=(0,)):\n    b = pl.yield_(me)",
            "a starts as pl.Scalar[pl.INDEX]",
        ),
        ("for i in pl.range(4, init_values=(0,)):\n    pass", "go together"),
        ("for i, (a,) in pl.range(4):\n    pass", "go together"),
        ("for i, a in pl.range(4, init_values=(0,)):\n    pass", "not interpreted"),
        (
            "for i, (a,) in pl.unroll(4, init_values=(0,)):\n    b = pl.yield_(a)",
            "`pl.unroll` with `init_values=`",
        ),
        (
            "for (a,) in pl.while_(init_values=(0,)):\n    b = pl.yield_(a)",
            "does not start with `pl.cond`",
        ),
        ("b = pl.yield_(me)", "yields to no loop or branch"),
        ("pl.cond(me == 0)", "outside `pl.while_`"),
    ],
)
def test_refused(refuse, body: str, message: str) -> None:
    found = refuse(body)
    assert found.code.id == "AR703"
    assert message in found.message
