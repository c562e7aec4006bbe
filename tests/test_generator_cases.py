"""Cases that people hit in public, tried on the generator: K15 to K20, K24 to K28.

Each stands for its kind: sizes that do not divide, tiles that do not align, ranks that
own nothing, memory that does not fit, values at the edges of their type.
"""

from __future__ import annotations

import numpy as np
import pytest

from allreduce_gen.engines.audit import audit_all_reduce
from allreduce_gen.engines.base import Array, RunOptions, Schedule
from allreduce_gen.engines.simulator import simulate
from allreduce_gen.errors import SpecError
from allreduce_gen.ir.events import RemoteLoad
from allreduce_gen.ir.recognise import call_buffers
from allreduce_gen.pipeline import generate
from allreduce_gen.spec import (
    Algorithm,
    AllReduceSpec,
    DType,
    Order,
    ReduceOp,
    Reuse,
)

HOSTILE = RunOptions(seed=1, schedule=Schedule.BOTH_LATE)


def audit(spec: AllReduceSpec) -> None:
    """Generate `spec` and hold it to numpy on every rank, to the last element."""
    kernel = generate(spec)
    calls = call_buffers(kernel.trace)
    assert calls is not None
    audit_all_reduce(kernel.trace, calls, spec.op, HOSTILE)


def reduce(values: list[list[float]] | Array, **fields: object) -> Array:
    """Every rank's result for `values` [ranks, size], as the simulator gives it."""
    inputs = np.asarray(values)
    spec = AllReduceSpec(num_ranks=inputs.shape[0], size=inputs.shape[1], **fields)  # type: ignore[arg-type]
    return simulate(generate(spec).trace, {"x": inputs}, HOSTILE).outputs["y"]


@pytest.mark.parametrize(("ranks", "size"), [(3, 4096), (4, 4098), (7, 64)])
def test_k15_sizes_that_ranks_do_not_divide(ranks: int, size: int) -> None:
    audit(AllReduceSpec(num_ranks=ranks, size=size))


@pytest.mark.parametrize(("ranks", "size"), [(4, 1), (4, 3), (8, 7)])
def test_k16_fewer_elements_than_ranks(ranks: int, size: int) -> None:
    audit(AllReduceSpec(num_ranks=ranks, size=size))


def test_k16_no_elements() -> None:
    with pytest.raises(SpecError, match="AR102"):
        generate(AllReduceSpec(num_ranks=4, size=0))


@pytest.mark.parametrize(
    ("ranks", "size", "dtype"),
    [(2, 18, DType.FP32), (4, 100, DType.FP32), (8, 64, DType.FP16)],
)
def test_k17_chunks_of_odd_bytes(ranks: int, size: int, dtype: DType) -> None:
    audit(AllReduceSpec(num_ranks=ranks, size=size, dtype=dtype))


def test_k18_tiles_under_32_bytes_leave_half_the_ranks_idle() -> None:
    spec = AllReduceSpec(num_ranks=16, size=64)
    audit(spec)
    reducing = {
        one.agent.rank
        for one in generate(spec).trace.agents
        for event in one.events
        if isinstance(event, RemoteLoad) and event.region.view.name == "data"
    }
    assert reducing == set(range(8))


@pytest.mark.parametrize(
    ("ranks", "size", "dtype", "says", "near"),
    [
        (3, 4096, DType.FP32, "3 ranks: 1 left over", "--size 4080 or 4104,"),
        (2, 18, DType.FP32, "9 is 36 bytes, needs a multiple of 32", "16 or 32,"),
        (4, 4, DType.FP32, "1 is 4 bytes, needs a multiple of 32", "--size 32,"),
        (4, 100, DType.FP32, "25 is 100 bytes, needs a multiple of 32", "96 or 128,"),
        (8, 64, DType.FP16, "8 is 16 bytes, needs a multiple of 32", "--size 128,"),
        (16, 64, DType.FP32, "4 is 16 bytes, needs a multiple of 32", "--size 128,"),
    ],
)
@pytest.mark.parametrize("algorithm", [Algorithm.TWO_PHASE, Algorithm.RING])
def test_k15_k17_k18_strictly_divisible_is_one_message(
    ranks: int, size: int, dtype: DType, says: str, near: str, algorithm: Algorithm
) -> None:
    spec = AllReduceSpec(
        num_ranks=ranks,
        size=size,
        dtype=dtype,
        algorithm=algorithm,
        strict_divisible=True,
    )
    with pytest.raises(SpecError) as caught:
        generate(spec)
    (finding,) = caught.value.diagnostics
    assert finding.code.id == "AR103"
    assert says in finding.message
    assert near in finding.help
    assert "leave out --strict-divisible" in finding.help


@pytest.mark.parametrize("algorithm", Algorithm)
def test_strictly_divisible_takes_what_ranks_divide(algorithm: Algorithm) -> None:
    for ranks in (4, 5):
        fields = {"num_ranks": ranks, "size": 8 * ranks, "algorithm": algorithm}
        spec = AllReduceSpec(**fields, strict_divisible=True)  # type: ignore[arg-type]
        audit(spec)


@pytest.mark.parametrize(
    ("tile", "step", "op"),
    [
        (23560, "reduce_scatter", ReduceOp.SUM),
        (100000, "stage_in", ReduceOp.SUM),
        (23560, "reduce_scatter", ReduceOp.MAX),
    ],
)
def test_k19_a_tile_too_large_names_the_largest(
    tile: int, step: str, op: ReduceOp
) -> None:
    spec = AllReduceSpec(num_ranks=4, size=1 << 22, tile=tile, op=op)
    with pytest.raises(SpecError) as caught:
        generate(spec)
    (finding,) = caught.value.diagnostics
    assert finding.code.id == "AR501"
    assert finding.help == "give --tile at most 23552"
    assert finding.location is not None
    assert finding.location.step == step


@pytest.mark.parametrize("size", [23552, 23560, 65536])
@pytest.mark.parametrize("dtype", [DType.FP32, DType.FP16, DType.BF16])
def test_k19_live_tiles_fit_the_buffer(size: int, dtype: DType) -> None:
    spec = AllReduceSpec(num_ranks=2, size=size, dtype=dtype)
    assert 0 < generate(spec).cost.ub_bytes <= 188416
    audit(spec)


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
@pytest.mark.parametrize(
    ("size", "dtype"),
    [(size, DType.FP32) for size in (1, 17, 4097, 65537, 1000003)]
    + [(size, DType.FP16) for size in (1, 17, 8193, 32769)],
)
def test_k20_off_the_grid(size: int, dtype: DType, ranks: int) -> None:
    audit(AllReduceSpec(num_ranks=ranks, size=size, dtype=dtype))


def test_k24_one_rank_is_the_identity() -> None:
    values = np.arange(4097, dtype=np.float32)[np.newaxis]
    np.testing.assert_array_equal(reduce(values), values)


def test_k24_one_rank_divides_nothing() -> None:
    audit(AllReduceSpec(num_ranks=1, size=17, strict_divisible=True))


@pytest.mark.parametrize("op", ReduceOp)
@pytest.mark.parametrize("reuse", Reuse)
def test_k24_one_rank_carries_no_generality(op: ReduceOp, reuse: Reuse) -> None:
    spec = AllReduceSpec(num_ranks=1, size=4097, dtype=DType.BF16, op=op, reuse=reuse)
    source = generate(spec).source
    for absent in ("SCALE", "slots", "window;", "waits", "persist between"):
        assert absent not in source
    assert ("# epoch is not read" in source) == (reuse is Reuse.EPOCH)
    assert "PADDED = 4112  # elements of the tile: whole 32-byte blocks" in source


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"groups": (3, 3)}, "two_phase has no groups"),
        (
            {"groups": (3, 3), "algorithm": Algorithm.HIERARCHICAL},
            "3 groups of 3 are 9 ranks, not 1",
        ),
        ({"algorithm": Algorithm.RING, "order": Order.ASCENDING}, "its own"),
    ],
)
def test_k24_one_rank_is_held_to_the_options(
    fields: dict[str, object], message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        generate(AllReduceSpec(num_ranks=1, size=64, **fields))  # type: ignore[arg-type]


@pytest.mark.parametrize("ranks", [16, 17, 64])
def test_k25_many_ranks(ranks: int) -> None:
    audit(AllReduceSpec(num_ranks=ranks, size=65536))


def test_k25_too_many_ranks() -> None:
    with pytest.raises(SpecError, match="AR106"):
        generate(AllReduceSpec(num_ranks=65, size=65536))


def test_k26_every_rank_gets_the_same_bits() -> None:
    column = np.array([1e8, 1, -1e8, 1], dtype=np.float32)[:, np.newaxis]
    result = reduce(np.repeat(column, 4096, axis=1))
    assert (result.view(np.uint32) == result.view(np.uint32)[0]).all()


def test_k26_random_data_on_sixteen_ranks() -> None:
    values = np.random.default_rng(7).standard_normal((16, 4096)).astype(np.float32)
    result = reduce(values)
    assert (result.view(np.uint32) == result.view(np.uint32)[0]).all()


def test_k27_fp16_overflows_to_infinity() -> None:
    values = np.full((4, 64), 20000, dtype=np.float16)
    assert np.isposinf(reduce(values, dtype=DType.FP16)).all()


def test_k27_bf16_is_summed_in_fp32_and_rounded_once() -> None:
    values = np.repeat(np.array([[256], [1], [1], [1]], dtype=np.float32), 64, axis=1)
    # 259 lies between 258 and 260; adding in BF16 would have stayed at 256.
    assert (reduce(values, dtype=DType.BF16) == 260).all()


def test_k27_int32_wraps() -> None:
    values = np.full((4, 64), 1 << 30, dtype=np.int32)
    assert (reduce(values, dtype=DType.INT32) == 0).all()


def test_k27_negative_zero_nan_and_infinities() -> None:
    zeros = reduce(np.full((4, 64), -0.0, dtype=np.float32))
    assert (zeros == 0).all()
    assert np.signbit(zeros).all()
    values = np.zeros((4, 64), dtype=np.float32)
    values[2, 5] = np.nan
    values[0, 7], values[3, 7] = np.inf, -np.inf
    result = reduce(values)
    assert np.isnan(result[:, [5, 7]]).all()
    assert (np.delete(result, [5, 7], axis=1) == 0).all()


@pytest.mark.parametrize("op", [ReduceOp.MAX, ReduceOp.MIN])
@pytest.mark.parametrize("size", [64, 100, 5])
def test_k28_max_and_min_start_from_data(op: ReduceOp, size: int) -> None:
    values = -1 - np.arange(4 * size, dtype=np.float32).reshape(4, size)
    wanted = values.max(axis=0) if op is ReduceOp.MAX else values.min(axis=0)
    np.testing.assert_array_equal(reduce(values, op=op), np.tile(wanted, (4, 1)))
    if op is ReduceOp.MIN:
        np.testing.assert_array_equal(
            reduce(-values, op=op), np.tile((-values).min(axis=0), (4, 1))
        )


@pytest.mark.parametrize(
    ("fields", "code", "allowed"),
    [
        ({"dtype": DType.INT8}, "AR104", "fp32, fp16, bf16, int32, int16"),
        ({"dtype": DType.INT32, "op": ReduceOp.AVG}, "AR105", "sum, max, min, prod"),
        (
            {"dtype": DType.INT8, "op": ReduceOp.PROD, "platform": "a5"},
            "AR105",
            "sum, max, min",
        ),
    ],
)
def test_k28_refusals_say_what_the_platform_has(
    fields: dict[str, object], code: str, allowed: str
) -> None:
    with pytest.raises(SpecError) as caught:
        generate(AllReduceSpec(num_ranks=4, size=64, **fields))  # type: ignore[arg-type]
    (finding,) = caught.value.diagnostics
    assert finding.code.id == code
    assert allowed in finding.help
