"""What operations of kernels become in a trace."""

from __future__ import annotations

import pytest

from allreduce_gen.ir.events import (
    Cast,
    Combine,
    Fill,
    Load,
    Notify,
    NotifyOp,
    RemoteLoad,
    RemoteStore,
    Reshape,
    Scale,
    Store,
    TileOp,
    Wait,
    WaitCmp,
)
from allreduce_gen.spec import DType


def events(result, rank: int = 1):
    return result.trace.agents[rank].events


def test_load_with_a_cut(trace) -> None:
    (load,) = events(trace("t = pl.load(x, [0, 8], [1, 16], valid_shape=[1, 5])"))
    assert isinstance(load, Load)
    assert (load.tile.shape, load.tile.valid) == ((1, 16), (1, 5))
    assert load.region.shape == (1, 5)
    assert load.region.view.name == "x"
    assert load.region.view.start == 64 * 4  # rank 1's part of x
    assert load.region.view.shape == (1, 64)


@pytest.mark.parametrize(
    ("call", "is_atomic"),
    [
        ("pl.store(t, [0, 0], data)", False),
        ("pl.store(t, [0, 0], data, atomic=pl.AtomicType.None_)", False),
        ("pl.tile.store(t, [0, 0], data, atomic=pl.AtomicType.Add)", True),
    ],
)
def test_store(trace, call: str, is_atomic: bool) -> None:
    load, store = events(trace(f"t = pl.load(x, [0, 0], [1, 16])\n{call}"))
    assert isinstance(store, Store)
    assert store.tile == load.tile
    assert store.atomic is is_atomic
    assert store.region.view.buffer.is_window


@pytest.mark.parametrize(
    "call",
    [
        "pld.tile.remote_load(data, (me + 1) % NUM_RANKS, [0, 8], [1, 16])",
        "pld.remote_load(data, peer=(me + 1) % NUM_RANKS, offsets=[0, 8], "
        "shape=[1, 16])",
    ],
)
def test_remote_load(trace, call: str) -> None:
    (event,) = events(trace(f"t = {call}"))
    assert isinstance(event, RemoteLoad)
    assert event.peer == 2
    assert event.region.offsets == (0, 8)
    assert event.region.view.name == "data"


def test_remote_store(trace) -> None:
    body = """\
    t = pl.load(x, [0, 0], [1, 16])
    pld.tile.remote_store(
        t, target=data, peer=0, offsets=[0, 16], atomic=pld.AtomicType.Add
    )
    """
    _, event = events(trace(body))
    assert isinstance(event, RemoteStore)
    assert (event.peer, event.atomic) == (0, True)


def test_put_goes_through_the_chip(trace) -> None:
    load, store = events(trace("pld.tensor.put(data, 2, x)"))
    assert isinstance(load, Load)
    assert isinstance(store, RemoteStore)
    assert store.tile == load.tile
    assert store.peer == 2
    assert store.region.shape == (1, 64)


def test_get_goes_through_the_chip(trace) -> None:
    body = """\
    pld.tensor.get(y, me, data, dst_offsets=[0, 8], src_offsets=[0, 0], shape=[1, 16])
    """
    load, store = events(trace(body))
    assert isinstance(load, RemoteLoad)
    assert isinstance(store, Store)
    assert load.region.offsets == (0, 0)
    assert store.region.offsets == (0, 8)


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("add", TileOp.ADD),
        ("sub", TileOp.SUB),
        ("mul", TileOp.MUL),
        ("div", TileOp.DIV),
        ("maximum", TileOp.MAX),
        ("minimum", TileOp.MIN),
    ],
)
def test_arithmetic(trace, name: str, op: TileOp) -> None:
    body = f"""\
    a = pl.load(x, [0, 0], [1, 16])
    b = pl.load(x, [0, 16], [1, 16])
    c = pl.tile.{name}(a, b)
    d = pl.{name}(c, 0.25)
    """
    first, second, combine, scale = events(trace(body))
    assert isinstance(combine, Combine)
    assert (combine.op, combine.left, combine.right) == (op, first.tile, second.tile)
    assert isinstance(scale, Scale)
    assert (scale.op, scale.source, scale.scalar) == (op, combine.tile, 0.25)


@pytest.mark.parametrize("mode", ['"rint"', "1"])
def test_cast(trace, mode: str) -> None:
    body = f"""\
    a = pl.load(x, [0, 0], [1, 16])
    b = pl.cast(a, pl.BF16, mode={mode})
    """
    _, cast = events(trace(body))
    assert isinstance(cast, Cast)
    assert (cast.tile.dtype, cast.mode) == (DType.BF16, "rint")


def test_made_tiles(trace) -> None:
    body = """\
    a = pl.create_tile([1, 16], pl.FP32)
    b = pl.tile.full([1, 16], dtype=pl.FP32, value=0.5)
    """
    created, full = events(trace(body))
    assert isinstance(created, Fill)
    assert created.value is None
    assert full.value == 0.5


def test_set_validshape(trace) -> None:
    body = """\
    a = pl.load(x, [0, 0], [1, 16])
    b = pl.set_validshape(a, 1, me + 3)
    c = pl.set_validshape(b, 1, 4)
    """
    load, cut = events(trace(body))  # the second cut changes nothing on rank 1
    assert isinstance(cut, Reshape)
    assert cut.source == load.tile
    assert cut.tile.valid == (1, 4)


@pytest.mark.parametrize(
    ("spelling", "op"),
    [("AtomicAdd", NotifyOp.ATOMIC_ADD), ("Set", NotifyOp.SET)],
)
def test_notify(trace, spelling: str, op: NotifyOp) -> None:
    body = f"""\
    pld.system.notify(
        target=signal, peer=0, offsets=[1, me], value=-2, op=pld.NotifyOp.{spelling}
    )
    """
    (event,) = events(trace(body))
    assert isinstance(event, Notify)
    assert (event.peer, event.value, event.op) == (0, -2, op)
    assert event.slot.offsets == (1, 1)
    assert event.slot.shape == (1, 1)
    assert event.slot.view.dtype is DType.INT32


@pytest.mark.parametrize(("spelling", "cmp"), [("Ge", WaitCmp.GE), ("Eq", WaitCmp.EQ)])
def test_wait(trace, spelling: str, cmp: WaitCmp) -> None:
    body = f"""\
    pld.system.wait(
        signal=signal, offsets=[0, 3], expected=nranks - 1, cmp=pld.WaitCmp.{spelling}
    )
    """
    (event,) = events(trace(body))
    assert isinstance(event, Wait)
    assert (event.expected, event.cmp) == (3, cmp)
    assert event.slot.offsets == (0, 3)


def test_types_known_outside(trace) -> None:
    body = """\
    pl.static_assert(SIZE == 64, "the size")
    pl.static_print(SIZE)
    width = pl.FP32.get_byte() * pl.const(2, pl.INDEX)
    t = pl.load(x, [0, pl.max(width, 3)], [1, 16])
    """
    (load,) = events(trace(body))
    assert load.region.offsets == (0, 8)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "a = pl.load(x, [0, 0], [1, 16])\nb = pl.tile.maximum(a, 0.5)",
            "rhs is pl.Scalar[pl.FP32]",
        ),
        (
            "a = pl.load(x, [0, 0], [1, 16])\nb = pl.add(a, me * 2)",
            "rhs is pl.Scalar[pl.INDEX], which tile instructions do not take",
        ),
        (
            "a = pl.load(x, [0, 0], [1, 16])\nb = pl.set_validshape(a, 1, me)",
            "valid_cols is pl.Scalar[pl.INT32], wanted 64 bits",
        ),
        ('pl.static_assert(SIZE == 65, "no")', "does not hold"),
        ("t = pl.load(x, [0, 0], [1, 16], valid_shape=[1, 17])", "not within"),
        ("t = pl.load(x, [0, 0], [1, 16], clamp=True)", "clamp"),
        (
            "t = pl.load(x, [0, 0], [1, 16], target_memory=pl.MemorySpace.Mat)",
            "cube core",
        ),
        (
            "a = pl.load(x, [0, 0], [1, 16])\nb = pl.load(x, [0, 0], [1, 8])\n"
            "c = pl.add(a, b)",
            "shapes [1, 16] and [1, 8]",
        ),
        ("a = pl.cast(pl.load(x, [0, 0], [1, 16]), pl.FP16, mode='up')", "rounding"),
        ("pld.tensor.put(data, 1, x, pipeline=True)", "needs chunks"),
        ("pld.tensor.put(data, 1, x, chunk_rows=me)", "no constant"),
        ("pld.tensor.put(data, 1, x, dst_offsets=[0, 0])", "only dst_offsets"),
        ("pld.tensor.put(signal, 1, x)", "different element types"),
        ("a = pl.store(x, [0, 0], y)", "wanted a tile"),
        ("a = pld.system.notify(signal, 0, [0, 0], 1, op=pld.NotifyOp.Set)", "nothing"),
    ],
)
def test_refused(refuse, body: str, message: str) -> None:
    found = refuse(body)
    assert found.code.id == "AR703"
    assert message in found.message


@pytest.mark.parametrize(
    ("length", "seen"), [("16 - me * 16", "-16 on rank 2"), ("me * 16", "32 on rank 2")]
)
def test_a_valid_shape_that_a_rank_exceeds(refuse, length: str, seen: str) -> None:
    body = f"tile = pl.load(x, [0, 0], [1, 16], valid_shape=[1, {length}])"
    assert refuse(body).message == (
        f"`pl.load`: valid_shape {seen} is not within the tile's 16"
    )
