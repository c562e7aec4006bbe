"""Returns that end a function before its last line."""

from __future__ import annotations

import pytest

from allreduce_gen.errors import CompileError
from allreduce_gen.frontend import trace_program
from allreduce_gen.ir.events import event_kind

from .conftest import program_text

KERNEL = "    @pl.function(type=pl.FunctionType.InCore)\n"
PAIR = """\
    @pl.function(type=pl.FunctionType.Inline)
    def pair(self, rank: pl.Scalar[pl.INT32]):
        return rank + 1, rank + 2

"""


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


@pytest.mark.parametrize(
    "end",
    ["pl.store(tile, [0, 0], y)", "if me == 0:\n    return y\nelse:\n    return y"],
)
def test_a_declared_result_wants_a_return_at_the_end(load, end: str) -> None:
    body = f"tile = pl.load(x, [0, 0], [1, 16])\n{end}\n"
    with pytest.raises(CompileError, match="kernel declares a result, and no return"):
        trace_program(load(declaring(body)))


def test_a_declared_result_is_returned_once(load) -> None:
    body = "tile = pl.load(x, [0, 0], [1, 16])\npl.store(tile, [0, 0], y)\n"
    trace_program(load(declaring(body + "return y")))
    early = f"if me == 0:\n    return y\n{body}return y"
    with pytest.raises(CompileError, match="kernel declares a result, and returns ear"):
        trace_program(load(declaring(early)))


def declaring(body: str) -> str:
    """The program whose kernel says what it returns."""
    signature = "    ) -> pl.Tensor[[1, SIZE], pl.FP32]:"
    return program_text(body).replace("    ):", signature, 1)


def test_what_a_call_returns_is_taken_apart(load) -> None:
    text = program_text("""
        both = self.pair(me)
        low, high = self.pair(me)
        tile = pl.load(x, [0, high + both[0]], [1, 16])
    """).replace(KERNEL, PAIR + KERNEL, 1)
    trace = trace_program(load(text)).trace
    offsets = [one.events[0].region.offsets for one in trace.agents]
    assert offsets == [(0, 3), (0, 5), (0, 7), (0, 9)]
