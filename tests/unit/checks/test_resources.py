"""Room on the target."""

from __future__ import annotations

from dataclasses import replace

import pytest

from allreduce_gen.checks import check_resources
from allreduce_gen.checks.instructions import check_instructions
from allreduce_gen.ir.events import Cast, Repeat, Tile
from allreduce_gen.ir.expand import expand
from allreduce_gen.ir.trace import Agent, AgentTrace
from allreduce_gen.planner import make_plan
from allreduce_gen.spec import Accumulate, AllReduceSpec, DType
from allreduce_gen.targets import PLATFORMS


def _copy(length: int):
    def script(me) -> None:
        me.at(10).store(me.load("x", 0, length), "y", 0)

    return script


def _mesh(length: int):
    def script(me) -> None:
        total = me.at(10).load("x", 0, length)
        total = me.at(11).combine(total, me.get(0, "data", 0, length))
        me.at(12).store(total, "y", 0)

    return script


@pytest.mark.parametrize(
    ("script", "size", "codes"),
    [
        (_copy, 47104, []),
        (_copy, 47112, ["AR501"]),
        (_mesh, 23552, []),
        (_mesh, 23560, ["AR501"]),
    ],
)
def test_the_on_chip_buffer(programs, kinds, script, size, codes) -> None:
    trace = programs.write(2, size, script(size))
    assert kinds(check_resources(trace)) == codes


def test_the_numbers_of_a_tile_too_large(programs) -> None:
    (finding,) = check_resources(programs.write(2, 65536, _mesh(65536)))
    assert finding.message == (
        "rank 0's tiles take 524288 bytes (262144 + 262144); the on-chip buffer of "
        "a2a3sim has 188416"
    )
    assert finding.location.line == 10


def test_rows_that_are_no_multiple_of_32_bytes(programs, kinds) -> None:
    findings = list(check_resources(programs.write(2, 18, _copy(18))))
    assert kinds(findings) == ["AR502"]
    assert "rows of 72 bytes" in findings[0].message


def test_too_many_ranks_and_cores(programs, kinds) -> None:
    ranks = programs.write(65, 8, lambda me: None)
    assert kinds(check_resources(ranks)) == ["AR106"]
    blocks = programs.write(2, 8, lambda me: None, blocks=49)
    assert kinds(check_resources(blocks)) == ["AR506"]
    assert kinds(check_resources(programs.write(64, 8, lambda me: None))) == []


@pytest.mark.parametrize(
    ("platform", "dtype", "codes"),
    [
        ("a5", DType.INT8, []),
        ("a2a3", DType.INT8, ["AR104"]),
        ("a2a3", DType.BF16, ["AR104"]),
        ("a2a3", DType.FP16, []),
    ],
)
def test_arithmetic_that_the_platform_lacks(kinds, platform, dtype, codes) -> None:
    spec = AllReduceSpec(
        num_ranks=2,
        size=64,
        dtype=dtype,
        platform="a5",
        accumulate=Accumulate.NATIVE,
    )
    trace = replace(expand(make_plan(spec)), platform=platform)
    assert kinds(check_resources(trace)) == codes


@pytest.mark.parametrize(
    ("platform", "source", "dtype", "instead"),
    [
        ("a2a3", DType.INT16, DType.INT32, "fp32, fp16, bf16, and that to int32"),
        ("a5", DType.INT16, DType.INT32, None),
        ("a2a3", DType.INT16, DType.FP32, None),
        ("a2a3", DType.UINT16, DType.FP32, "keep the data in uint16"),
        ("a5", DType.FP16, DType.UINT16, None),
    ],
)
def test_casts_that_the_platform_lacks(platform, source, dtype, instead) -> None:
    agent = Agent(rank=0)
    tiles = [
        Tile(id=index, shape=(1, 64), valid=(1, 64), dtype=one)
        for index, one in enumerate((source, dtype))
    ]
    cast = Cast(source=tiles[0], tile=tiles[1], mode="round")
    repeat = Repeat(count=2, body=(cast,))
    trace = AgentTrace(agent=agent, events=(repeat,))
    found = list(check_instructions(PLATFORMS[platform], trace))
    assert [one.code.id for one in found] == ([] if instead is None else ["AR104"])
    if instead is not None:
        assert instead in (found[0].help or "")
