"""What outputs are made of."""

from __future__ import annotations

import dataclasses

import pytest

from allreduce_gen.checks import Collective, check_trace, recognise
from allreduce_gen.checks.exactness import holds
from allreduce_gen.ir.calls import join_calls
from allreduce_gen.ir.events import TileOp
from allreduce_gen.spec import DType

SIZE = 64


def _all_reduce(programs, script, num_ranks: int = 4, **options):
    """`script(me, parts)` after a barrier; `parts` are everybody's whole vectors."""

    def whole(me) -> None:
        programs.stage_in(me, SIZE)
        me.barrier(0, line=20)
        parts = [me.at(30).get(peer, "data", 0, SIZE) for peer in range(num_ranks)]
        script(me.at(40), parts)

    return programs.write(num_ranks, SIZE, whole, **options)


def _sum(me, parts, op=TileOp.ADD):
    total = parts[0]
    for part in parts[1:]:
        total = me.combine(total, part, op)
    return total


def _only(findings, kinds, code: str):
    assert kinds(findings) == [code]
    return findings[0]


def test_a_contribution_left_out(programs, kinds) -> None:
    trace = _all_reduce(
        programs, lambda me, parts: me.store(_sum(me, [*parts[:1], parts[3]]), "y", 0)
    )
    finding = _only(check_trace(trace), kinds, "AR405")
    assert finding.message == "y[0:64] of rank 0 lacks what ranks 1 and 2 contribute"
    assert finding.location.line == 40
    assert finding.notes[0].text == "3 more like it on ranks 1, 2 and 3"


def test_a_contribution_added_twice(programs, kinds) -> None:
    trace = _all_reduce(
        programs, lambda me, parts: me.store(_sum(me, [*parts, parts[2]]), "y", 0)
    )
    finding = _only(check_trace(trace), kinds, "AR406")
    assert finding.message == "y[0:64] of rank 0 counts rank 2 2 times"


def test_a_maximum_may_see_a_rank_twice(programs) -> None:
    trace = _all_reduce(
        programs,
        lambda me, parts: me.store(_sum(me, [*parts, parts[2]], TileOp.MAX), "y", 0),
    )
    assert check_trace(trace) == ()


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_a_tail_that_no_chunk_covers(programs, kinds, num_ranks) -> None:
    size = 16 * num_ranks + 8

    def script(me) -> None:
        programs.stage_in(me, size)
        me.barrier(0, line=20)
        programs.reduce_scatter(me, 16)
        me.barrier(1, line=40)
        programs.all_gather(me, 16)

    findings = check_trace(programs.write(num_ranks, size, script))
    finding = _only(findings, kinds, "AR405")
    assert finding.message == f"y[{size - 8}:{size}] of rank 0 is never written"


def test_the_all_gather_left_out(programs, kinds) -> None:
    def script(me) -> None:
        programs.stage_in(me, SIZE)
        me.barrier(0, line=20)
        programs.reduce_scatter(me, 16)

    findings = check_trace(programs.write(4, SIZE, script))
    finding = _only(findings, kinds, "AR405")
    assert finding.message == "y[0:64] of rank 0 is never written"
    assert "3 more like it" in finding.notes[0].text


def test_two_chunks_swapped(programs, kinds) -> None:
    def script(me) -> None:
        programs.stage_in(me, SIZE)
        me.barrier(0, line=20)
        programs.reduce_scatter(me, 16)
        me.barrier(1, line=40)
        for owner in range(4):
            part = me.at(50).get(owner, "result", owner * 16, 16)
            me.at(51).store(part, "y", {1: 2, 2: 1}.get(owner, owner) * 16)

    finding = _only(check_trace(programs.write(4, SIZE, script)), kinds, "AR408")
    assert finding.message == (
        "y[16:32] of rank 0 holds x[32:48] of rank 0 where x[16:32] of rank 0 belongs"
    )


def test_window_bytes_that_nobody_wrote(programs, kinds) -> None:
    def script(me) -> None:
        me.at(11).store(me.load("x", 0, 48), "data", 0)
        me.barrier(0, line=20)
        parts = [me.at(30).get(peer, "data", 0, SIZE) for peer in range(4)]
        me.at(40).store(_sum(me, parts), "y", 0)

    finding = _only(check_trace(programs.write(4, SIZE, script)), kinds, "AR407")
    assert finding.message == (
        "y[48:64] of rank 0 is made of what rank 0 takes from data and nobody has "
        "written"
    )
    assert finding.location.line == 30


def test_a_tile_that_was_made_but_not_filled(programs, kinds) -> None:
    trace = _all_reduce(
        programs,
        lambda me, parts: me.store(_sum(me, [me.fill(SIZE, None), *parts]), "y", 0),
    )
    finding = _only(check_trace(trace), kinds, "AR407")
    assert "takes from a tile" in finding.message


def test_a_padded_vector_is_sound(programs) -> None:
    """32 elements a window, 18 of them used; what is beyond is never stored in y."""

    def script(me) -> None:
        me.at(11).store(me.load("x", 0, 18, padded=32), "data", 0)
        me.barrier(0, line=20)
        programs.reduce_scatter(me, 16)
        me.barrier(1, line=40)
        for owner in range(2):
            part = me.at(50).get(owner, "result", owner * 16, 16)
            me.store(me.cut(part, min(16, 18 - owner * 16)), "y", owner * 16)

    windows = {"data": (1, 32), "result": (1, 32)}
    assert check_trace(programs.write(2, 18, script, windows=windows)) == ()


@pytest.mark.parametrize(
    ("op", "value", "code"),
    [
        (TileOp.ADD, 0.0, []),
        (TileOp.ADD, 0.5, ["AR410"]),
        (TileOp.MUL, 1.0, []),
        (TileOp.MAX, 0.0, ["AR410"]),
    ],
)
def test_a_constant_among_the_contributions(programs, kinds, op, value, code) -> None:
    trace = _all_reduce(
        programs,
        lambda me, parts: me.store(
            _sum(me, [me.fill(SIZE, value), *parts], op), "y", 0
        ),
    )
    findings = check_trace(trace)
    assert kinds(findings) == code
    if code:
        assert f"the constant {value:g}" in findings[0].message


def test_operators_mixed(programs, kinds) -> None:
    def script(me, parts) -> None:
        low = me.combine(parts[0], parts[1])
        high = me.combine(parts[2], parts[3], TileOp.MAX)
        me.store(me.combine(low, high), "y", 0)

    finding = _only(check_trace(_all_reduce(programs, script)), kinds, "AR410")
    assert "add and max mixed" in finding.message


def test_an_average_and_a_detour_through_another_type_are_sound(programs) -> None:
    def script(me, parts) -> None:
        wide = [me.cast(part, DType.FP32) for part in parts]
        me.store(me.cast(me.scale(_sum(me, wide), 0.25), DType.BF16), "y", 0)

    assert check_trace(_all_reduce(programs, script, dtype=DType.BF16)) == ()


def test_one_contribution_scaled(programs, kinds) -> None:
    trace = _all_reduce(
        programs,
        lambda me, parts: me.store(
            _sum(me, [me.scale(parts[0], 0.25), *parts[1:]]), "y", 0
        ),
    )
    finding = _only(check_trace(trace), kinds, "AR410")
    assert "elements scaled differently" in finding.message


def _by_two(programs, odd, *, num_ranks: int = 4):
    """Chunks of 16: `odd` says of (rank, owner) which are a maximum, the rest a sum."""

    def script(me, parts) -> None:
        for owner in range(num_ranks):
            chunks = [me.get(peer, "data", owner * 16, 16) for peer in range(num_ranks)]
            op = TileOp.MAX if odd(me.rank, owner) else TileOp.ADD
            me.at(40).store(_sum(me, chunks, op), "y", owner * 16)

    return _all_reduce(programs, script, num_ranks)


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        (
            lambda rank, owner: owner == 1,
            "maximum in y[16:32] of ranks 0, 1, 2 and 3, but sum in y[0:16] of ranks "
            "0, 1, 2 and 3 and y[32:64] of ranks 0, 1, 2 and 3",
        ),
        (
            lambda rank, owner: rank == 2,
            "maximum in y[0:64] of rank 2, but sum in y[0:64] of ranks 0, 1 and 3",
        ),
        (
            lambda rank, owner: rank != owner,
            "sum in y[0:16] of rank 0, y[16:32] of rank 1 and 2 more parts, but "
            "maximum in y[16:64] of rank 0, y[0:16] of rank 1 and 4 more parts",
        ),
    ],
)
def test_parts_by_different_operators(programs, kinds, odd, message) -> None:
    finding = _only(check_trace(_by_two(programs, odd)), kinds, "AR410")
    assert finding.message == f"y is made by two operators: {message}"
    assert finding.location.line == 40


def test_one_rank_forgets_the_mean(programs, kinds) -> None:
    def script(me, parts) -> None:
        total = _sum(me, parts)
        me.at(40).store(total if me.rank == 3 else me.scale(total, 0.25), "y", 0)

    finding = _only(check_trace(_all_reduce(programs, script)), kinds, "AR410")
    assert finding.message == (
        "y is made by two operators: sum in y[0:64] of rank 3, but sum scaled by 0.25 "
        "in y[0:64] of ranks 0, 1 and 2"
    )


def test_each_call_has_an_operator_of_its_own_unless_all_are_alike(
    programs, kinds
) -> None:
    def call(number: int):
        def script(me) -> None:
            row = 2 * number
            programs.stage_in(me, 32)
            me.barrier(row, line=20)
            parts = [me.at(30).get(peer, "data", 0, 32) for peer in range(2)]
            op = TileOp.ADD if number == 1 else TileOp.MAX
            me.at(40).store(_sum(me, parts, op), "y", 0)
            me.barrier(row + 1, line=50)

        return programs.write(2, 32, script)

    trace = join_calls([call(1), call(2)])
    assert check_trace(trace) == ()
    finding = _only(check_trace(trace, alike_calls=True), kinds, "AR410")
    assert finding.message == (
        "y is made by two operators: maximum in call 2, but sum in call 1"
    )


def test_a_mean_of_one_contribution_is_none(programs, kinds) -> None:
    """Added to zeros: a sum by its looks, of one rank's elements only."""

    def script(me, parts) -> None:
        alone = me.combine(me.fill(SIZE, 0.0), parts[2])
        me.at(40).store(me.scale(alone, 0.25), "y", 0)

    trace = _all_reduce(programs, script)
    findings = check_trace(trace, collective=Collective.BROADCAST)
    assert "elements scaled by 0.25" in _only(findings, kinds, "AR410").message


def test_reals_rounded_on_their_way_are_a_warning(programs, kinds) -> None:
    def script(me, parts) -> None:
        short = [me.cast(part, DType.FP16) for part in parts]
        wide = [me.cast(part, DType.FP32) for part in short]
        me.at(40).store(_sum(me, wide), "y", 0)

    finding = _only(check_trace(_all_reduce(programs, script)), kinds, "(AR410)")
    assert finding.message == (
        "y[0:64] of rank 0 holds fp32 elements rounded to fp16 on their way"
    )


@pytest.mark.parametrize(
    ("source", "exact"),
    [
        (DType.INT8, "FP32 FP16 BF16 INT8 INT16 INT32 INT64"),
        (DType.UINT8, "FP32 FP16 BF16 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64"),
        (DType.INT16, "FP32 INT16 INT32 INT64"),
        (DType.INT32, "INT32 INT64"),
        (DType.FP16, "FP32 FP16"),
        (DType.BF16, "FP32 BF16"),
        (DType.FP32, "FP32"),
    ],
)
def test_which_types_hold_which(source, exact: str) -> None:
    assert {one.name for one in DType if holds(one, source)} == set(exact.split())


def test_the_sum_of_an_earlier_call(programs, kinds) -> None:
    """Call 2 forgets to stage in, and hands out call 1's sum."""

    def call(number: int):
        def script(me) -> None:
            if number == 1:
                programs.stage_in(me, 32)
            me.barrier(0, line=20, expected=number)
            total = me.get(0, "data", 0, 32)
            me.at(40).store(me.combine(total, me.get(1, "data", 0, 32)), "y", 0)

        return programs.write(2, 32, script)

    finding = _only(check_trace(join_calls([call(1), call(2)])), kinds, "AR410")
    assert finding.message.startswith("y@2[0:32] of rank 0 holds elements of x, which")


def test_atomic_adds_into_a_zeroed_window(programs, kinds) -> None:
    def script(me) -> None:
        staged = me.at(10).load("x", 0, 32)
        for peer in range(3):
            me.at(11).put(staged, peer, "data", 0, atomic=True)
        me.barrier(0, line=20)
        me.at(40).store(me.load("data", 0, 32), "y", 0)

    findings = check_trace(programs.write(3, 32, script))
    assert kinds(findings) == ["(AR411)"]
    integers = programs.write(3, 32, script, dtype=DType.INT32)
    assert check_trace(integers) == ()


def test_loops_over_tiles_are_followed_as_one(programs) -> None:
    """A million tiles: no check grows with the number of rounds."""
    size = 1 << 30

    def script(me) -> None:
        def stage(me) -> None:
            me.store(me.load("x", 0, 1024), "data", 0)

        def add(me) -> None:
            parts = [me.get(peer, "data", 0, 1024) for peer in range(2)]
            me.store(me.combine(*parts), "y", 0)

        me.at(10).repeat(size // 1024, 1024, stage)
        me.barrier(0, line=20)
        me.at(30).repeat(size // 1024, 1024, add)

    assert check_trace(programs.write(2, size, script)) == ()


def _reduce_scatter(programs, me) -> None:
    total = me.at(30).get(0, "data", me.rank * 16, 16)
    for peer in range(1, 4):
        total = me.combine(total, me.get(peer, "data", me.rank * 16, 16))
    me.store(total, "y", 0)


def _all_gather(programs, me) -> None:
    for peer in range(4):
        me.at(30).store(me.get(peer, "data", 0, SIZE), "y", peer * SIZE)


def _broadcast(programs, me) -> None:
    me.at(30).store(me.get(2, "data", 0, SIZE), "y", 0)


def _all_to_all(programs, me) -> None:
    for peer in range(4):
        me.at(30).store(me.get(peer, "data", me.rank * 16, 16), "y", peer * 16)


@pytest.mark.parametrize(
    ("body", "out", "collective"),
    [
        (_reduce_scatter, 16, Collective.REDUCE_SCATTER),
        (_all_gather, 4 * SIZE, Collective.ALL_GATHER),
        (_broadcast, SIZE, Collective.BROADCAST),
        (_all_to_all, SIZE, Collective.ALL_TO_ALL),
    ],
)
def test_other_collectives(programs, kinds, body, out, collective) -> None:
    def script(me) -> None:
        programs.stage_in(me, SIZE)
        me.barrier(0, line=20)
        body(programs, me)

    trace = programs.write(4, SIZE, script, out=out)
    assert recognise(trace) is collective
    assert check_trace(trace, collective=collective) == ()
    assert check_trace(trace, collective=None) == ()
    assert any(one.is_error for one in check_trace(trace))


def test_an_all_reduce_is_recognised_right_or_nearly(programs) -> None:
    assert recognise(programs.two_phase(4)) is Collective.ALL_REDUCE
    partly = _all_reduce(
        programs, lambda me, parts: me.store(_sum(me, parts[:3]), "y", 0)
    )
    assert recognise(partly) is Collective.ALL_REDUCE


def test_nothing_is_recognised_in_constants(programs) -> None:
    def script(me) -> None:
        me.load("x", 0, 8)
        me.store(me.fill(8, 1.0), "y", 0)

    assert recognise(programs.write(2, 8, script)) is None


def test_an_output_that_is_not_divided_among_ranks_is_not_decided(
    programs, kinds
) -> None:
    """24 elements for 5 ranks."""
    trace = programs.write(5, 24, lambda me: None)
    odd = dataclasses.replace(trace.buffers[1], nbytes=4 * 24)
    trace = dataclasses.replace(trace, buffers=(trace.buffers[0], odd))
    finding = _only(check_trace(trace), kinds, "AR309")
    assert finding.message.startswith("what y holds is not decided")


def test_an_output_with_no_input_at_all(programs, kinds) -> None:
    trace = programs.write(2, 8, lambda me: me.store(me.fill(8, 0.0), "y", 0))
    trace = dataclasses.replace(trace, buffers=trace.buffers[1:])
    assert kinds(check_trace(trace)) == ["AR410"]


def _as_type(me, name: str, dtype: DType) -> str:
    """A view of the bytes of window `name` as another type's."""
    view = dataclasses.replace(me.views[name], dtype=dtype)
    me.views[f"{name} as {dtype.value}"] = view
    return f"{name} as {dtype.value}"


@pytest.mark.parametrize(
    ("dtype", "other"), [(DType.FP32, DType.INT32), (DType.BF16, DType.FP16)]
)
def test_bytes_read_as_another_type(programs, kinds, dtype, other) -> None:
    """Whether the sum of them is cast, or its bytes are read as the first type."""

    def script(me, is_cast: bool) -> None:
        programs.stage_in(me, SIZE)
        me.barrier(0, line=20)
        data = _as_type(me, "data", other)
        total = _sum(me, [me.at(30).get(peer, data, 0, SIZE) for peer in range(4)])
        if is_cast:
            me.at(40).store(me.cast(total, dtype), "y", 0)
        else:
            me.store(total, _as_type(me, "result", other), 0)
            me.at(40).store(me.load("result", 0, SIZE), "y", 0)

    for is_cast in (True, False):
        trace = programs.write(
            4, SIZE, lambda me, cast=is_cast: script(me, cast), dtype=dtype
        )
        finding = _only(check_trace(trace), kinds, "AR410")
        seen = f"bytes of {dtype.value} elements read as another type"
        assert seen in finding.message


def test_bytes_added_in_memory_as_another_type(programs, kinds) -> None:
    def script(me) -> None:
        programs.stage_in(me, SIZE)
        bits = me.load(_as_type(me, "data", DType.INT32), 0, SIZE)
        total = _as_type(me, "result", DType.INT32)
        for peer in range(4):
            me.at(30).put(bits, peer, total, 0, atomic=True)
        me.barrier(0, line=20)
        me.at(40).store(me.load("result", 0, SIZE), "y", 0)

    findings = check_trace(programs.write(4, SIZE, script))
    (error,) = (one for one in findings if one.is_error)
    assert error.code.id == "AR410"
    assert "bytes of fp32 elements read as another type" in error.message


def test_bytes_moved_as_another_type_and_read_as_their_own(programs) -> None:
    def script(me) -> None:
        programs.stage_in(me, SIZE)
        me.barrier(0, line=20)
        data = _as_type(me, "data", DType.INT32)
        for peer in range(4):
            bits = me.at(30).get(peer, data, 0, SIZE)
            me.at(31).store(bits, _as_type(me, "rows", DType.INT32), 0, peer)
        parts = [me.at(40).load("rows", 0, SIZE, peer) for peer in range(4)]
        me.at(41).store(_sum(me, parts), "y", 0)

    windows = {"data": (1, SIZE), "rows": (4, SIZE)}
    assert check_trace(programs.write(4, SIZE, script, windows=windows)) == ()


@pytest.mark.parametrize("dtype", [DType.INT32, DType.UINT32])
def test_a_minimum_by_negation_needs_signs(programs, kinds, dtype) -> None:
    def script(me, parts) -> None:
        turned = [me.scale(part, -1.0) for part in parts]
        me.store(me.scale(_sum(me, turned, TileOp.MAX), -1.0), "y", 0)

    findings = check_trace(_all_reduce(programs, script, dtype=dtype))
    assert ("AR410" in kinds(findings)) is (dtype is DType.UINT32)


def test_fractions_that_a_cast_cuts_before_the_sum(programs, kinds) -> None:
    def script(me, parts) -> None:
        wide = [me.scale(me.cast(part, DType.FP32), 0.25) for part in parts]
        me.store(_sum(me, [me.cast(one, DType.INT16) for one in wide]), "y", 0)

    trace = _all_reduce(programs, script, dtype=DType.INT16)
    finding = _only(check_trace(trace), kinds, "AR410")
    assert "fractions that integers lost before the last step" in finding.message
