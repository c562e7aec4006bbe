"""Spans are one tile where they fit, else full tiles and one shorter tail."""

from dataclasses import replace

import pytest

from allreduce_gen.ir.constants import Constant
from allreduce_gen.ir.expr import evaluate
from allreduce_gen.ir.pieces import cut_span
from allreduce_gen.planner.chunking import cut
from allreduce_gen.planner.tiling import choose_tile, reduce_bytes, split, split_exact
from allreduce_gen.spec import AllReduceSpec, DType

TILE = Constant(name="TILE", value=16384)


def test_tile_is_the_largest_power_of_two_that_fits() -> None:
    spec = AllReduceSpec(num_ranks=4, size=4096)
    assert choose_tile(spec, reduce_bytes(spec)).value == 16384
    assert choose_tile(spec, 4).value == 32768
    assert 2 * 16384 * 4 <= 188416 < 2 * 32768 * 4


def test_a_wide_accumulator_counts_what_it_came_from() -> None:
    narrow = AllReduceSpec(num_ranks=4, size=4096, dtype=DType.BF16)
    assert reduce_bytes(narrow) == 2 + 4 + 4
    assert reduce_bytes(AllReduceSpec(num_ranks=4, size=4096)) == 4 + 4


@pytest.mark.parametrize(
    ("elems", "constants"),
    [
        (1024, {}),
        (16384, {}),
        (16392, {"TILE": 16384, "TAIL": 8}),
        (32768, {"TILE": 16384, "TILES": 2}),
        (40000, {"TILE": 16384, "TILES": 2, "TAIL": 7232}),
    ],
)
def test_split_covers_every_element_once(elems: int, constants: dict[str, int]) -> None:
    tiling = split(Constant(name="CHUNK", value=elems), TILE)
    assert {one.name: one.value for one in tiling.constants} == constants
    env = {"CHUNK": elems, **constants}
    end = 0
    for piece in cut_span(tiling.span, 0, env):
        assert piece.first == end
        end += (piece.count - 1) * piece.elems + piece.valid
    assert end == elems


@pytest.mark.parametrize("num_ranks", [1, 2, 3, 7, 8, 64])
@pytest.mark.parametrize("size", [1, 7, 8, 18, 4096, 4097, 16385, 65537, 1000003])
def test_staging_moves_every_element_once_in_whole_blocks(
    size: int, num_ranks: int
) -> None:
    spec = AllReduceSpec(num_ranks=num_ranks, size=size)
    chunking = cut(spec, num_ranks)
    tiling = split_exact(spec, chunking.size, chunking.width, TILE)
    env = {one.name: one.value for one in (*chunking.constants, *tiling.constants)}
    end = 0
    for piece in cut_span(tiling.span, 0, env):
        assert piece.first == end
        assert piece.elems % 8 == 0
        assert piece.elems <= TILE.value
        end += (piece.count - 1) * piece.elems + piece.valid
    assert end == size


@pytest.mark.parametrize("num_ranks", [1, 2, 3, 7, 8, 64])
@pytest.mark.parametrize("size", [1, 7, 8, 18, 4096, 4097, 65537, 1000003, 2**40])
def test_owners_tile_the_vector(size: int, num_ranks: int) -> None:
    chunking = cut(AllReduceSpec(num_ranks=num_ranks, size=size), num_ranks)
    tiling = split(chunking.chunk, TILE)
    span = replace(tiling.span, limit=chunking.limit)
    env = {one.name: one.value for one in (*chunking.constants, *tiling.constants)}
    end = 0
    for rank in range(num_ranks):
        base = rank * chunking.chunk.value
        for piece in cut_span(span, base, env):
            assert base + piece.first == end
            end += (piece.count - 1) * piece.elems + piece.valid
    assert end == size
    assert evaluate(span.tile, env) % 8 == 0
    idle = (num_ranks - 1) * chunking.chunk.value >= size
    assert chunking.has_idle_owners == idle


def test_sizes_that_divide_and_align_keep_their_simple_form() -> None:
    chunking = cut(AllReduceSpec(num_ranks=4, size=4096), 4)
    assert [one.name for one in chunking.constants] == ["SIZE", "CHUNK"]
    assert chunking.limit is None
