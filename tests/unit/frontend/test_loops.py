"""Loops that are the same in every round stay one Repeat; others unroll."""

from __future__ import annotations

import pytest

from allreduce_gen.ir.events import Load, Notify, Reshape, Store

COPY = """\
    tile = pl.load(x, [0, i * 8], [1, 8])
    data = pl.store(tile, [0, i * 8], data)
"""


def kinds(events) -> list[str]:
    return [type(event).__name__ for event in events]


def test_affine_loop_is_one_repeat(trace, first_line) -> None:
    (repeat,) = trace(f"for i in pl.range(8):\n{COPY}").trace.agents[0].events
    assert repeat.count == 8
    load, store = repeat.body
    assert isinstance(load, Load)
    assert isinstance(store, Store)
    assert load.region.offsets == (0, 0)
    assert load.region.strides == store.region.strides == ((0, 8),)
    assert repeat.origin.line == first_line
    assert load.origin.file == "kernel.py"
    assert load.origin.line == first_line + 1


@pytest.mark.parametrize("bounds", ["0, 0", "4, 2"])
def test_no_round_is_no_event(trace, bounds: str) -> None:
    assert trace(f"for i in pl.range({bounds}):\n{COPY}").trace.agents[0].events == ()


def test_one_round_is_inlined(trace) -> None:
    events = trace(f"for i in pl.range(3, 4):\n{COPY}").trace.agents[0].events
    assert kinds(events) == ["Load", "Store"]
    assert events[0].region.offsets == (0, 24)
    assert events[0].region.strides == ()


def test_start_and_step_become_offset_and_stride(trace) -> None:
    (repeat,) = trace(f"for i in pl.range(1, 8, 2):\n{COPY}").trace.agents[0].events
    assert repeat.count == 4
    assert repeat.body[0].region.offsets == (0, 8)
    assert repeat.body[0].region.strides == ((0, 16),)


def test_nested_loops_have_a_stride_each(trace) -> None:
    body = """\
    for i in pl.range(4):
        for j in pl.range(2):
            tile = pl.load(x, [0, i * 16 + j * 8], [1, 8])
            data = pl.store(tile, [0, i * 16 + j * 8], data)
    """
    (outer,) = trace(body).trace.agents[0].events
    (inner,) = outer.body
    assert (outer.count, inner.count) == (4, 2)
    assert inner.body[0].region.strides == ((0, 16), (0, 8))


def test_huge_loop_does_not_grow(trace) -> None:
    body = """\
    for i in pl.range(1 << 26):
        tile = pl.load(x, [0, i * 8], [1, 8])
        data = pl.store(tile, [0, i * 8], data)
    """
    (repeat,) = trace(body).trace.agents[0].events
    assert repeat.count == 1 << 26


def test_ragged_tail_splits_once(trace) -> None:
    body = """\
    for i in pl.range(1 << 20):
        at = i * 8
        end = SIZE - 3
        if at < end:
            length = pl.min(8, end - at)
            tile = pl.load(data, [0, at], [1, 8])
            cut = pl.set_validshape(tile, 1, length)
            y = pl.store(cut, [0, at], y)
    """
    full, *tail = trace(body).trace.agents[0].events
    assert full.count == 7
    assert kinds(full.body) == ["Load", "Store"]
    assert kinds(tail) == ["Load", "Reshape", "Store"]
    assert isinstance(tail[1], Reshape)
    assert tail[2].region.offsets == (0, 56)
    assert tail[2].region.shape == (1, 5)


@pytest.mark.parametrize("rank", range(4))
def test_inequality_leaves_one_round_out(trace, rank: int) -> None:
    body = """\
    for peer in pl.range(nranks):
        if peer != me:
            pld.system.notify(
                signal, peer=peer, offsets=[0, me], value=1, op=pld.NotifyOp.AtomicAdd
            )
    """
    events = trace(body).trace.agents[rank].events
    assert all(isinstance(event, Notify) for event in events)
    assert [event.peer for event in events] == [p for p in range(4) if p != rank]


def test_equality_between_two_rounds_never_holds(trace) -> None:
    body = """\
    for i in pl.range(8):
        if i * 2 == 3:
            tile = pl.load(x, [0, 0], [1, 8])
    """
    assert trace(body).trace.agents[0].events == ()


def test_modulo_unrolls(trace) -> None:
    body = """\
    for i in pl.range(4):
        at = (i + me) % NUM_RANKS * 16
        tile = pl.load(x, [0, at], [1, 16])
    """
    events = trace(body).trace.agents[3].events
    assert [event.region.offsets[1] for event in events] == [48, 0, 16, 32]


def test_carried_tile_unrolls(trace) -> None:
    body = """\
    acc = pl.load(x, [0, 0], [1, 16])
    for i in pl.range(1, 4):
        part = pl.load(x, [0, i * 16], [1, 16])
        acc = pl.add(acc, part)
    y = pl.store(acc, [0, 0], y)
    """
    events = trace(body).trace.agents[0].events
    assert kinds(events) == ["Load", *["Load", "Combine"] * 3, "Store"]
    assert events[-1].tile == events[-2].tile


def test_carried_scalar_unrolls_and_survives(trace) -> None:
    body = """\
    at = me * 0 + 0
    for i in pl.range(3):
        at = at + i * 8
    tile = pl.load(x, [0, at], [1, 8])
    """
    (load,) = trace(body).trace.agents[0].events
    assert load.region.offsets == (0, 24)


def test_scalar_bound_anew_has_the_last_value(trace) -> None:
    body = """\
    at = me * 0 + 0
    for i in pl.range(4):
        at = i * 8
        tile = pl.load(x, [0, at], [1, 8])
    last = pl.load(x, [0, at], [1, 8])
    """
    repeat, load = trace(body).trace.agents[0].events
    assert repeat.count == 4
    assert load.region.offsets == (0, 24)


def test_continue_skips_the_rest_of_a_round(trace) -> None:
    body = """\
    for i in pl.range(4):
        if i == 2:
            continue
        tile = pl.load(x, [0, i * 16], [1, 16])
    """
    pair, last = trace(body).trace.agents[0].events
    assert pair.count == 2
    assert last.region.offsets == (0, 48)


def test_while_runs_round_by_round(trace) -> None:
    body = """\
    d = 1
    while d < nranks:
        tile = pl.load(x, [0, d * 8], [1, 8])
        d = d * 2
    """
    events = trace(body).trace.agents[0].events
    assert [event.region.offsets[1] for event in events] == [8, 16]


def test_both_branches_bind(trace) -> None:
    body = """\
    if me == 0:
        at = 8
    else:
        at = 16
    tile = pl.load(x, [0, at], [1, 8])
    """
    result = trace(body).trace
    assert [one.events[0].region.offsets[1] for one in result.agents] == [8, 16, 16, 16]


def test_division_truncates(trace) -> None:
    body = "tile = pl.load(x, [0, (me - 3) // nranks + (me - 3) % nranks + 3], [1, 8])"
    result = trace(body).trace
    assert [one.events[0].region.offsets[1] for one in result.agents] == [0, 1, 2, 3]


def test_negative_offset_stays_for_the_checks(trace) -> None:
    result = trace("tile = pl.load(x, [0, me - 2], [1, 8])").trace
    assert result.agents[0].events[0].region.offsets == (0, -2)


def test_inner_loop_may_use_the_outer_variable_again(trace) -> None:
    body = """\
    for i in pl.range(2):
        first = pl.load(x, [0, i * 8], [1, 8])
        for i in pl.range(3):
            second = pl.load(x, [0, i * 16], [1, 8])
    """
    (outer,) = trace(body).trace.agents[0].events
    first, inner = outer.body
    assert first.region.strides == ((0, 8),)
    assert inner.body[0].region.strides == ((0, 0), (0, 16))


def test_loop_variable_ends_with_its_loop(refuse) -> None:
    found = refuse("i = 3\nfor i in pl.range(2):\n    pass\nk = i")
    assert "i is bound inside a loop" in found.message
