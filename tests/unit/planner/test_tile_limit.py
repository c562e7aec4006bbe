"""A tile too large is refused with the largest that fits, which is so to the block."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from allreduce_gen.planner import check_spec
from allreduce_gen.spec import Algorithm, AllReduceSpec, DType, ReduceOp, Transfer
from allreduce_gen.targets import aligned_elems


def largest(spec: AllReduceSpec) -> int:
    (finding,) = check_spec(spec)
    assert finding.code.id == "AR501"
    named = re.fullmatch(r"give --tile at most (\d+)", finding.help)
    assert named is not None
    return int(named[1])


@pytest.mark.parametrize(
    ("fields", "elems"),
    [
        ({}, 188416 // 8),
        ({"platform": "a5"}, 245760 // 8),
        ({"num_ranks": 1}, 188416 // 4),
        ({"dtype": DType.INT16}, 188416 // 4),
        ({"dtype": DType.BF16}, 188416 // 10 // 16 * 16),
        ({"dtype": DType.BF16, "algorithm": Algorithm.RING}, 188416 // 8),
    ],
)
def test_the_largest_tile(fields: dict[str, object], elems: int) -> None:
    spec = AllReduceSpec(
        **({"num_ranks": 4, "size": 1 << 22, "tile": 400_000} | fields)  # type: ignore[arg-type]
    )
    assert largest(spec) == elems


@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize("dtype", [DType.FP32, DType.BF16])
@pytest.mark.parametrize("ranks", [3, 6])
def test_one_block_more_does_not_fit(
    ranks: int, dtype: DType, algorithm: Algorithm
) -> None:
    spec = AllReduceSpec(
        num_ranks=ranks, size=1000003, dtype=dtype, algorithm=algorithm, tile=400_000
    )
    most = largest(spec)
    assert list(check_spec(replace(spec, tile=most))) == []
    assert largest(replace(spec, tile=most + aligned_elems(dtype))) == most


def test_a_pushed_mean_has_a_largest_tile_too() -> None:
    spec = AllReduceSpec(
        num_ranks=4,
        size=1000003,
        op=ReduceOp.AVG,
        transfer=Transfer.PUSH,
        tile=400_000,
    )
    assert largest(spec) == 23552


def test_a_vector_below_the_tile_needs_no_room_for_it() -> None:
    assert list(check_spec(AllReduceSpec(num_ranks=4, size=64, tile=400_000))) == []
