"""Comparisons: rows, stars, verdicts, as text and as data."""

from __future__ import annotations

import pytest

from allreduce_gen.costmodel import FORMULAS, find_crossovers, load_model
from allreduce_gen.report import (
    Comparison,
    compare_algorithms,
    comparisons_to_json,
    format_comparison,
    format_crossovers,
)
from allreduce_gen.spec import Algorithm, AllReduceSpec, DType

MODEL = load_model("a2a3sim")


@pytest.fixture(scope="module")
def compared() -> Comparison:
    return compare_algorithms(AllReduceSpec(num_ranks=4, size=4096), MODEL)


def test_every_algorithm_is_made_and_proved(compared: Comparison) -> None:
    assert [one.algorithm for one in compared.rows] == list(FORMULAS)
    assert {one.verdict for one in compared.rows} == {"clean"}


def test_the_row_of_the_default(compared: Comparison) -> None:
    counted = compared.rows[0].counted
    assert counted is not None
    assert counted.cost.remote_bytes == counted.cost.bound_bytes == 24576
    assert (counted.rounds, counted.num_rows, counted.cost.notifies) == (2, 2, 6)
    assert counted.model_s == pytest.approx(counted.replay_s)
    assert counted.replay_both_s == pytest.approx(counted.replay_s)


def test_the_table(compared: Comparison) -> None:
    title, head, first, *_, bounds, times = format_comparison(compared).splitlines()
    assert title == ("sum of 4096 fp32 elements (16384 B) over 4 ranks, for a2a3sim")
    assert " ".join(head.split()) == (
        "algorithm remote B x bound rounds notifies rows window B UB B model replay "
        "both ports checks"
    )
    assert " ".join(first.split()) == (
        "two_phase 24576 1.000 2 6 2 32768 20480 6.429 us 6.429 us 6.429 us clean"
    )
    assert bounds == (
        "lower bounds, one port: 2 rounds of one peer each 4 us, 24576 B 983 ns, "
        "reducing 122.9 ns"
    )
    assert times == "times: uncalibrated numbers from the default cost model"


def test_the_fastest_has_the_only_star(compared: Comparison) -> None:
    starred = [line for line in format_comparison(compared).splitlines() if "*" in line]
    assert compared.fastest is Algorithm.MESH
    assert [line.split()[:2] for line in starred] == [["mesh", "*"]]


def test_what_is_refused_has_its_codes_as_verdict() -> None:
    refused = compare_algorithms(
        AllReduceSpec(num_ranks=4, size=64, dtype=DType.BOOL), MODEL
    )
    assert {one.verdict for one in refused.rows} == {"refused: AR104"}
    assert refused.fastest is None
    row = format_comparison(refused).splitlines()[2]
    assert row.split() == ["two_phase", "refused:", "AR104"]
    algorithms = comparisons_to_json([refused], ())["sizes"][0]["algorithms"]
    assert algorithms[0] == {"algorithm": "two_phase", "checks": "refused: AR104"}


def test_one_rank_has_no_ratio() -> None:
    alone = compare_algorithms(AllReduceSpec(num_ranks=1, size=64), MODEL)
    row = format_comparison(alone).splitlines()[2]
    assert row.split()[:5] == ["two_phase", "*", "0", "-", "0"]


def test_crossovers_as_text_and_data(compared: Comparison) -> None:
    found = find_crossovers(compared.spec, FORMULAS, MODEL)
    assert format_crossovers(found[:1]) == (
        f"from {found[0].vector_bytes:.0f} B a rank on: {found[0].after.value} is "
        f"faster than {found[0].before.value}"
    )
    data = comparisons_to_json([compared], found)
    assert data["schema_version"] == 1
    assert data["model"]["calibrated"] is False
    assert data["crossovers"][0]["vector_bytes"] == found[0].vector_bytes
    assert data["sizes"][0]["fastest"] == "mesh"
    assert data["sizes"][0]["algorithms"][0]["remote_bytes"] == 24576
