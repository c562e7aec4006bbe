"""What pl.pipeline reorders: signals behind calls, and accesses that nothing joins."""

from __future__ import annotations

import textwrap

import pytest

from allreduce_gen.frontend import TraceResult, trace_program
from allreduce_gen.ir.events import Repeat

from .conftest import program_text

CHUNK = "[0, t * 16]"
LOOP = """\
for t in pl.pipeline(4, stage=2):
    tile = pl.load(x, [0, t * 16], [1, 16])
"""
PUT = "[0, t * 16], [0, t * 16], [1, 16])"
HELPER = """\
    @pl.function(type=pl.FunctionType.Inline)
    def helper(
        self,
        data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[2, NUM_RANKS], pl.INT32]],
    ) -> pld.DistributedTensor[[1, SIZE], pl.FP32]:
        {body}
        return data

"""


def codes(result: TraceResult) -> list[str]:
    return [diagnostic.code.id for diagnostic in result.diagnostics]


def lines(result: TraceResult) -> list[int | None]:
    return [one.location.line for one in result.diagnostics if one.location]


def in_loop(*statements: str) -> str:
    """A pipelined loop that loads a tile of x and goes on with `statements`."""
    return LOOP + textwrap.indent("\n".join(statements), "    ")


def with_helper(body: str, *statements: str) -> str:
    """A program that goes through `statements` and calls an Inline helper."""
    text = program_text("\n".join(statements))
    return text.replace("    RATE = 3\n", HELPER.format(body=body))


COLLECTIVES = [
    "signal = pld.tensor.barrier(signal)",
    "data = pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Sum)",
    "data = pld.tensor.broadcast(data, signal, root=0)",
]


@pytest.mark.parametrize("call", COLLECTIVES)
@pytest.mark.parametrize("nested", ["", "if t == 1:\n    "])
def test_collective(load, first_line: int, call: str, nested: str) -> None:
    body = in_loop(
        f"data = pl.store(tile, {CHUNK}, data)",
        nested + call,
        "again = pl.load(data, [0, 0], [1, 16])",
    )
    text = program_text(body).replace("[2, NUM_RANKS]", "[NUM_RANKS, 1]")
    result = trace_program(load(text))
    assert codes(result) == ["AR308"]
    assert lines(result) == [first_line + 3 + nested.count("\n")]
    outside = text.replace("pl.pipeline(4, stage=2)", "pl.range(4)")
    assert codes(trace_program(load(outside))) == []


SIGNALS = """\
pld.system.notify(signal, 0, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)
        pld.system.wait(signal, [0, 0], 0, cmp=pld.WaitCmp.Ge)"""


def test_signals_in_a_helper_are_those_of_the_call(load) -> None:
    text = with_helper(SIGNALS, in_loop("data = self.helper(data, signal)"))
    result = trace_program(load(text))
    (call,) = (
        number
        for number, line in enumerate(text.splitlines(), 1)
        if "self.helper(" in line
    )
    assert codes(result) == ["AR308"]
    assert lines(result) == [call]
    (note,) = result.diagnostics[0].notes
    assert note.location is not None
    assert note.location.line == call - 2


def test_signals_in_a_helper_outside(load) -> None:
    text = with_helper(SIGNALS, "data = self.helper(data, signal)")
    assert codes(trace_program(load(text))) == []


def test_a_pipeline_in_a_helper(load) -> None:
    body = "for t in pl.pipeline(2, stage=2):\n" + textwrap.indent(SIGNALS, "    ")
    body = body.replace("\n", "\n        ").replace("    " * 5, "    " * 3)
    text = with_helper(body, "data = self.helper(data, signal)")
    result = trace_program(load(text))
    assert codes(result) == ["AR308", "AR308"]


@pytest.mark.parametrize(
    ("statements", "line"),
    [
        (
            [
                f"pl.store(tile, {CHUNK}, data)",
                f"again = pl.load(data, {CHUNK}, [1, 16])",
            ],
            3,
        ),
        (
            [
                f"pl.store(tile, {CHUNK}, data)",
                f"again = pld.tile.remote_load(data, me, {CHUNK}, [1, 16])",
            ],
            3,
        ),
        (
            [
                f"other = pl.store(tile, {CHUNK}, data)",
                f"again = pl.load(data, {CHUNK}, [1, 16])",
            ],
            3,
        ),
        (
            [
                f"pl.store(tile, {CHUNK}, data)",
                f"pld.tensor.put(data, nranks - 1, data, {PUT}",
            ],
            3,
        ),
        (
            [
                f"pld.tile.remote_store(tile, data, me, {CHUNK})",
                f"again = pl.load(data, {CHUNK}, [1, 16])",
            ],
            3,
        ),
        (
            [
                f"pld.tensor.put(data, me, x, {PUT}",
                f"again = pl.load(data, {CHUNK}, [1, 16])",
            ],
            3,
        ),
        (
            [
                f"pld.tensor.get(data, 0, data, {PUT}",
                f"again = pl.load(data, {CHUNK}, [1, 16])",
            ],
            3,
        ),
        (["value = pl.read(y, [0, 0])", "pl.store(tile, [0, 0], y)"], 2),
        (
            [
                "pl.store(tile, [0, 0], y)",
                "for k in pl.range(2):",
                "    again = pl.load(y, [0, k * 8], [1, 8])",
            ],
            4,
        ),
        (
            [
                "for k in pl.range(2):",
                "    half = pl.load(x, [0, k * 8], [1, 8])",
                "    pl.store(half, [0, k * 8], y)",
                "again = pl.load(y, [0, 8], [1, 8])",
            ],
            5,
        ),
        (
            [
                "before = pl.load(data, [0, 0], [1, 16])",
                "pl.store(tile, [0, 0], data)",
            ],
            2,
        ),
    ],
)
@pytest.mark.parametrize("stage", [1, 2])
def test_read_above_a_write(
    trace, first_line: int, statements: list[str], line: int, stage: int
) -> None:
    body = in_loop(*statements).replace("stage=2", f"stage={stage}")
    result = trace(body)
    assert codes(result) == ["AR312"]
    assert lines(result) == [first_line + line]
    plain = body.replace(f"pl.pipeline(4, stage={stage})", "pl.range(4)")
    assert codes(trace(plain)) == []


def test_what_an_earlier_round_stores(trace, first_line: int) -> None:
    body = """\
    for t in pl.pipeline(1, 4, stage=3):
        before = pl.load(data, [0, (t - 1) * 16], [1, 16])
        y = pl.store(before, [0, (t - 1) * 16], y)
        tile = pl.load(x, [0, t * 16], [1, 16])
        {store}
    """
    dropped = trace(body.format(store=f"pl.store(tile, {CHUNK}, data)"))
    assert codes(dropped) == ["AR312"]
    assert lines(dropped) == [first_line + 1]
    assert dropped.diagnostics[0].message == (
        "in pl.pipeline, the load of data[0, 16:32] may move above the store before "
        "it: both touch the same bytes, and no name or tile goes from one to the other"
    )
    kept = trace(body.format(store=f"data = pl.store(tile, {CHUNK}, data)"))
    assert codes(kept) == []


@pytest.mark.parametrize(
    "second",
    [
        f"pld.tile.remote_store(tile, data, me, {CHUNK})",
        f"pld.tensor.put(data, me, x, {PUT}",
        f"pl.store(zero, {CHUNK}, data)",
        f"if t == me:\n    pl.store(tile, {CHUNK}, data)",
    ],
)
@pytest.mark.parametrize(
    "first",
    [
        f"pl.store(pl.add(tile, tile), {CHUNK}, data)",
        f"data = pl.store(pl.add(tile, tile), {CHUNK}, data)",
    ],
)
def test_write_above_a_store(trace, first: str, second: str) -> None:
    result = trace("zero = pl.load(x, [0, 0], [1, 16])\n" + in_loop(first, second))
    assert codes(result) == ([] if first.startswith("data") else ["AR312"])


def test_write_above_a_remote_load(trace) -> None:
    """No value goes from what is read to a store of what was there before."""
    body = "zero = pl.load(x, [0, 0], [1, 16])\n" + in_loop(
        f"old = pld.tile.remote_load(data, me, {CHUNK}, [1, 16])",
        f"data = pl.store(zero, {CHUNK}, data)",
    )
    assert codes(trace(body)) == ["AR312"]
    assert codes(trace(body.replace("(zero,", "(tile,"))) == []


def test_a_tile_joins_a_remote_load_to_the_store(trace) -> None:
    body = in_loop(
        "for k in pl.range(4):",
        f"    tile = pl.add(tile, pld.tile.remote_load(data, k, {CHUNK}, [1, 16]))",
        f"data = pl.store(tile, {CHUNK}, data)",
    )
    assert codes(trace(body)) == []


@pytest.mark.parametrize(
    "statements",
    [
        [
            f"data = pl.store(tile, {CHUNK}, data)",
            f"again = pl.load(data, {CHUNK}, [1, 16])",
        ],
        [
            f"data = pl.store(tile, {CHUNK}, data)",
            f"again = pld.tile.remote_load(data, me, {CHUNK}, [1, 16])",
        ],
        [
            f"other = pl.store(tile, {CHUNK}, data)",
            f"again = pl.load(other, {CHUNK}, [1, 16])",
        ],
        [
            f"old = pl.load(data, {CHUNK}, [1, 16])",
            "new = pl.add(old, tile)",
            f"pl.store(new, {CHUNK}, data)",
        ],
        [
            f"pl.store(tile, {CHUNK}, y)",
            f"pl.store(pl.add(tile, tile), {CHUNK}, y)",
        ],
        [
            f"pl.store(tile, {CHUNK}, data)",
            f"z = pld.tile.remote_load(data, (me + 1) % nranks, {CHUNK}, [1, 16])",
        ],
        [f"pl.store(tile, {CHUNK}, data, atomic=pl.AtomicType.Add)"] * 2,
        [
            "for k in pl.range(2):",
            "    half = pl.load(x, [0, t * 16 + k * 8], [1, 8])",
            "    data = pl.store(half, [0, t * 16 + k * 8], data)",
            f"again = pl.load(data, {CHUNK}, [1, 16])",
        ],
        [
            "pl.store(tile, [0, 0], y)",
            "again = pl.load(y, [0, 48], [1, 16])",
        ],
    ],
)
def test_order_that_is_kept(trace, statements: list[str]) -> None:
    assert codes(trace(in_loop(*statements))) == []


def test_loops_with_rounds_of_their_own_are_not_unrolled(trace) -> None:
    kept = in_loop(
        f"data = pl.store(tile, {CHUNK}, data)",
        f"again = pl.load(data, {CHUNK}, [1, 16])",
        f"y = pl.store(again, {CHUNK}, y)",
    )
    (loop,) = trace(kept).trace.agents[0].events
    assert isinstance(loop, Repeat)
    assert loop.count == 4


def test_a_helper_hands_the_store_on(load) -> None:
    store = "tile = pl.load(data, [0, 0], [1, 16])\n"
    store += "        data = pl.store(tile, [0, 16], data)"
    for call, expected in (
        ("data = self.helper(data, signal)", []),
        ("self.helper(data, signal)", ["AR312"]),
    ):
        text = with_helper(
            store, in_loop(call, "again = pl.load(data, [0, 16], [1, 16])")
        )
        assert codes(trace_program(load(text))) == expected


def test_loops_apart_are_not_compared(trace) -> None:
    body = in_loop(f"pl.store(tile, {CHUNK}, y)") + "\n"
    body += f"for t in pl.pipeline(4, stage=2):\n    z = pl.load(y, {CHUNK}, [1, 16])"
    assert codes(trace(body)) == []
    outer = "for t in pl.range(4):\n"
    inner = body.replace("for t in", "for k in").replace("t * 16", "k * 16")
    assert codes(trace(outer + textwrap.indent(inner, "    "))) == []


def test_a_pipeline_in_a_pipeline_is_part_of_it(trace) -> None:
    inner = f"for k in pl.pipeline(2, stage=2):\n    z = pl.load(y, {CHUNK}, [1, 16])"
    assert codes(trace(in_loop(f"pl.store(tile, {CHUNK}, y)", inner))) == ["AR312"]
