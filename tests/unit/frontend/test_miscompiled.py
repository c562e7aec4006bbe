"""Spellings that the real compiler accepts and turns into wrong code."""

from __future__ import annotations

import pytest

from allreduce_gen.errors import CompileError
from allreduce_gen.frontend import trace_program

from .conftest import program_text

KERNEL = "    @pl.function(type=pl.FunctionType.InCore)\n"
INLINE = """\
    @pl.function(type=pl.FunctionType.Inline)
    def wrap(
        self,
        rank: pl.Scalar[pl.INT32],
        whole: pl.Scalar[pl.INDEX],
        step: pl.Scalar[pl.INDEX],
    ):
        return (rank + whole - step) % whole

"""
NOTIFY = """\
for step in pl.range(1, NUM_RANKS):
    peer = {peer}
    pld.system.notify(
        signal, peer=peer, offsets=[0, me], value=1, op=pld.NotifyOp.AtomicAdd
    )
"""


def codes(result) -> list[str]:
    return [one.code.id for one in result.diagnostics]


@pytest.mark.parametrize(
    "peer",
    [
        "(me + NUM_RANKS - step) % NUM_RANKS",
        "(me + (NUM_RANKS - step)) % NUM_RANKS",
        "(me - step + NUM_RANKS) % NUM_RANKS",
        "(me + 2 * NUM_RANKS - step) % NUM_RANKS",
        "(NUM_RANKS * step + (me - step)) % NUM_RANKS",
        "(me + 8 - step) * 2 % 4",
        "(me - 1) % NUM_RANKS",
        "(me + 4 - step) // 2",
        "(me + NUM_RANKS - step) % 4",
        "(me - 1 + NUM_RANKS) % NUM_RANKS",
        "(7 + (me - 5)) % NUM_RANKS",
        "(me - (step - NUM_RANKS)) % NUM_RANKS",
        "((me + 1) * NUM_RANKS - step) // NUM_RANKS",
        "(me + (NUM_RANKS - step) % NUM_RANKS) % NUM_RANKS",
        "(me - step + NUM_RANKS + step // NUM_RANKS) % NUM_RANKS",
    ],
)
def test_numerator_that_turns_negative(trace, first_line, peer: str) -> None:
    result = trace(NOTIFY.format(peer=peer))
    assert codes(result) == ["AR706"]
    (found,) = result.diagnostics
    assert peer in found.message
    assert found.location.line == first_line + 1


@pytest.mark.parametrize(
    "peer",
    [
        "(me + step) % NUM_RANKS",
        "(me + (NUM_RANKS - 1) * step) % NUM_RANKS",
        "(me + NUM_RANKS - 1) % NUM_RANKS",
        "(me + nranks - step) % nranks",
        "(me + NUM_RANKS - 1 + step) % NUM_RANKS",
        "(me + step * NUM_RANKS) % NUM_RANKS",
        "(me + step % NUM_RANKS) % NUM_RANKS",
        "(me + NUM_RANKS - 1 - step // NUM_RANKS) % NUM_RANKS",
        "(NUM_RANKS * step + me - step) % NUM_RANKS",
        "(step + (3 - me) * 2 + 2) % 4",
        "(me + 4) // 2",
    ],
)
def test_numerator_that_stays(trace, peer: str) -> None:
    assert codes(trace(NOTIFY.format(peer=peer))) == []


def test_names_are_not_looked_through(trace) -> None:
    body = """\
    for step in pl.range(1, NUM_RANKS):
        back = NUM_RANKS - step
        tile = pl.load(x, [0, (me + back) % NUM_RANKS * 16], [1, 16])
    """
    assert codes(trace(body)) == []


def test_steps_that_keep_it_harmless(trace) -> None:
    """No rank and step makes (me - step) negative here."""
    body = """\
    if me == 3:
        for step in pl.range(1, NUM_RANKS):
            at = (me + NUM_RANKS - step) % NUM_RANKS
            tile = pl.load(x, [0, at * 16], [1, 16])
    """
    assert codes(trace(body)) == []


ROUNDS = """\
for step in {loop}:
    back = {back}
    tile = pl.load(x, [0, (me + {added}) % {divisor} * 16], [1, 16])
"""


@pytest.mark.parametrize(
    "added",
    ["NUM_RANKS - step", "(NUM_RANKS - step)", "back", "4 + -step", "8 - 4 - step"],
)
@pytest.mark.parametrize("loop", ["pl.unroll(1, NUM_RANKS)", "pl.range(1, 2)"])
def test_rounds_that_are_numbers(trace, loop: str, added: str) -> None:
    """`me + 4 - 1` is `me + 3` before a law for division sees it."""
    body = ROUNDS.format(loop=loop, back="4 - step", added=added, divisor="NUM_RANKS")
    assert codes(trace(body)) == []


@pytest.mark.parametrize(
    "body",
    [
        ROUNDS.format(loop="pl.unroll(1, 3)", back=0, added="back - step", divisor=4),
        "whole = 4\n"
        + ROUNDS.format(
            loop="pl.range(3)", back=0, added="whole - step", divisor="whole"
        ),
        "whole = pl.min(4, 1 << 3)\n"
        + ROUNDS.format(loop="pl.range(3)", back=0, added="whole - step", divisor=4),
        "first = 4\nwhole = first + 0\n"
        + ROUNDS.format(loop="pl.range(3)", back=0, added="whole - step", divisor=4),
    ],
)
def test_names_that_are_numbers(trace, body: str) -> None:
    """pypto puts a number in for a name that is bound to one."""
    assert codes(trace(body)) == ["AR706"]


@pytest.mark.parametrize(
    "body",
    [
        ROUNDS.format(loop="pl.range(3)", back=4, added="back - step", divisor=4),
        "whole = 8\nif me == 1:\n    whole = 4\n"
        + ROUNDS.format(loop="pl.range(3)", back=0, added="whole - step", divisor=4),
        "whole = 4\nfor again in pl.range(2):\n    whole = 8\n"
        + ROUNDS.format(loop="pl.range(3)", back=0, added="whole - step", divisor=4),
    ],
)
def test_names_that_loops_and_branches_bind(trace, body: str) -> None:
    """Which number they are is not known: nothing is taken out."""
    assert codes(trace(body)) == []


def test_numbers_that_are_passed_to_an_inline_function(load) -> None:
    text = program_text(
        "for step in pl.range(3):\n"
        "    at = self.wrap(me, {whole}, step)\n"
        "    tile = pl.load(x, [0, at * 16], [1, 16])"
    ).replace(KERNEL, INLINE + KERNEL, 1)
    known = trace_program(load(text.replace("{whole}", "4")))
    assert codes(known) == ["AR706"]
    unknown = trace_program(load(text.replace("{whole}", "nranks")))
    assert codes(unknown) == []


@pytest.mark.parametrize(
    "body",
    [
        "tile = pl.load(x, [0, OFFSETS[1]], [1, 16])",
        "at = OFFSETS[0]",
        "at = OFFSETS[0] + me",
        "tile = pl.load(x, [0, 0], [1, 16])\ny = pl.store(tile, [0, OFFSETS[1]], y)",
        "pld.system.notify(signal, me, [0, OFFSETS[0]], 1, op=pld.NotifyOp.Set)",
        "pld.system.notify(signal, me, [0, 0], OFFSETS[0], op=pld.NotifyOp.Set)",
        "t = pld.tile.remote_load(data, me, [0, OFFSETS[1]], [1, 16])",
        "t = pld.tile.remote_load(data, me, offsets=(0, OFFSETS[1]), shape=[1, 16])",
        "t = pld.tile.remote_load(data, me, offsets=[me * 0, me * OFFSETS[0]], "
        "shape=[1, 16])",
        "pld.system.wait(signal, offsets=[me, OFFSETS[0]], expected=0, "
        "cmp=pld.WaitCmp.Ge)",
        "pld.system.wait(signal, [0, OFFSETS[0]], 0, cmp=pld.WaitCmp.Ge)",
        "t = pl.load(x, [0, 0], [1, 16], [1, OFFSETS[0]])",
        "t = pl.load(x, [0, 0], [1, 16], valid_shape=[1, OFFSETS[0] - me])",
        "at = PAIRS[0][0]",
        "t = pl.load(x, [0, PAIRS[0][0]], [1, 16])",
        "pld.system.wait(signal, offsets=[me, PAIRS[0][0]], expected=0, "
        "cmp=pld.WaitCmp.Ge)",
        "tile = pl.load(x, [0, 0], [1, 16])\ny = pl.store(tile, [0, PAIRS[1][0]], y)",
    ],
)
def test_list_index(load, body: str) -> None:
    text = program_text(body).replace("TABLE =", "PAIRS = [[16, 32], [48, 0]]\nTABLE =")
    result = trace_program(load(text))
    assert codes(result) == ["AR707"]
    assert "takes the list's last item, 0" in result.diagnostics[0].message


@pytest.mark.parametrize(
    "body",
    [
        "tile = pl.load(x, [0, OFFSETS[2]], [1, 16])",
        "tile = pl.load(x, offsets=[0, OFFSETS[1]], shapes=[1, OFFSETS[0]])",
        "tile = pl.load(x, [0, 0], [1, 16], valid_shape=[1, OFFSETS[0]])",
        "t = pld.tile.remote_load(data, me, offsets=[0, OFFSETS[1]], "
        "shape=[1, OFFSETS[0]])",
        "pld.system.wait(signal, [0, OFFSETS[2]], 0, cmp=pld.WaitCmp.Ge)",
        "pld.system.wait(signal, offsets=[0, OFFSETS[0] // 8], expected=0, "
        "cmp=pld.WaitCmp.Ge)",
    ],
)
def test_list_index_that_comes_out_right(trace, body: str) -> None:
    """The last item, and what Python computes: keyword lists of outer values."""
    assert codes(trace(body)) == []


def test_keyword_list_with_a_name_from_outside(refuse) -> None:
    """pypto's parser takes the outer SIZE here, and the kernel's elsewhere."""
    found = refuse("SIZE = me\nt = pl.load(x, offsets=[0, SIZE * 4], shapes=[1, 16])")
    assert "SIZE is also a name outside the kernel" in found.message


def test_list_in_a_list_as_a_whole(load) -> None:
    text = program_text("t = pl.load(x, PAIRS[1], [1, 16])")
    with pytest.raises(CompileError, match="a list inside a list"):
        trace_program(
            load(text.replace("TABLE =", "PAIRS = [[0, 16], [0, 0]]\nTABLE ="))
        )


@pytest.mark.parametrize("iterator", ["pl.range(2)", "pl.pipeline(2, stage=2)"])
def test_signal_in_a_pipeline(trace, first_line, iterator: str) -> None:
    body = f"""\
    for i in {iterator}:
        tile = pl.load(x, [0, 0], [1, 16])
        data = pl.store(tile, [0, 0], data)
        pld.system.notify(signal, me, [0, me], 1, op=pld.NotifyOp.AtomicAdd)
    """
    result = trace(body)
    expected = ["AR308"] if "pipeline" in iterator else []
    assert codes(result) == expected
    assert [one.location.line for one in result.diagnostics] == [
        first_line + 3 for _ in expected
    ]
