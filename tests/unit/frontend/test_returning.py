"""Returns that end a function before its last line."""

from __future__ import annotations

from allreduce_gen.ir.events import event_kind


def counts(result) -> list[int]:
    return [len(one.events) for one in result.trace.agents]


def test_a_branch_ends_the_kernel(trace) -> None:
    found = trace("""
        if me == 1:
            return
        tile = pl.load(x, [0, 0], [1, 16])
        pl.store(tile, [0, 0], y)
    """)
    assert counts(found) == [2, 0, 2, 2]


def test_both_branches_may_return(trace) -> None:
    found = trace("""
        tile = pl.load(x, [0, 0], [1, 16])
        if me == 0:
            return pl.store(tile, [0, 0], y)
        return y
    """)
    assert counts(found) == [2, 1, 1, 1]


def test_a_round_ends_the_kernel(trace) -> None:
    found = trace("""
        for step in pl.range(4):
            if step == me:
                return
            tile = pl.load(x, [0, step * 16], [1, 16])
            pl.store(tile, [0, step * 16], y)
    """)
    kinds = [[event_kind(event) for event in one.events] for one in found.trace.agents]
    assert kinds == [[], ["load", "store"], ["repeat"], ["repeat"]]
    assert [one.events[0].count for one in found.trace.agents[2:]] == [2, 3]
