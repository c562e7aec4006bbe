"""Spellings that the real compiler accepts and turns into wrong code."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize(
    "body",
    [
        "tile = pl.load(x, [0, OFFSETS[1]], [1, 16])",
        "at = OFFSETS[0]",
        "at = OFFSETS[0] + me",
        "tile = pl.load(x, [0, 0], [1, 16])\ny = pl.store(tile, [0, OFFSETS[1]], y)",
        "pld.system.notify(signal, me, [0, OFFSETS[0]], 1, op=pld.NotifyOp.Set)",
        "pld.system.notify(signal, me, [0, 0], OFFSETS[0], op=pld.NotifyOp.Set)",
    ],
)
def test_list_index(trace, body: str) -> None:
    result = trace(body)
    assert codes(result) == ["AR707"]
    assert "takes the list's last item, 0" in result.diagnostics[0].message


@pytest.mark.parametrize(
    "body",
    [
        "tile = pl.load(x, [0, OFFSETS[2]], [1, 16])",
        "tile = pl.load(x, [0, 0], [1, 16], valid_shape=[1, OFFSETS[0]])",
        "t = pld.tile.remote_load(data, me, [0, OFFSETS[1]], [1, 16])",
        "pld.system.wait(signal, [0, OFFSETS[2]], 0, cmp=pld.WaitCmp.Ge)",
    ],
)
def test_list_index_that_comes_out_right(trace, body: str) -> None:
    assert codes(trace(body)) == []


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
