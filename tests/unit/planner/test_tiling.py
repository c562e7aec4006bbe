"""Spans are one tile where they fit, else full tiles and one shorter tail."""

import pytest

from allreduce_gen.ir.expr import evaluate
from allreduce_gen.ir.plan import Constant
from allreduce_gen.planner.tiling import choose_tile, split
from allreduce_gen.spec import AllReduceSpec


def test_tile_is_the_largest_power_of_two_that_fits() -> None:
    spec = AllReduceSpec(num_ranks=4, size=4096)
    assert choose_tile(spec, 2) == 16384
    assert choose_tile(spec, 1) == 32768
    assert 2 * 16384 * 4 <= 188416 < 2 * 32768 * 4


@pytest.mark.parametrize(
    ("elems", "constants"),
    [
        (1024, {}),
        (16384, {}),
        (16392, {"TAIL": 8}),
        (32768, {"TILES": 2}),
        (40000, {"TILES": 2, "TAIL": 7232}),
    ],
)
def test_split_covers_every_element_once(elems: int, constants: dict[str, int]) -> None:
    tiling = split(Constant(name="CHUNK", value=elems), 16384)
    assert {one.name: one.value for one in tiling.constants} == constants
    env = {"CHUNK": elems, "TILE": 16384, **constants}
    span = tiling.span
    full = evaluate(span.num_tiles, env) * evaluate(span.tile, env)
    assert full + evaluate(span.tail, env) == elems
