"""What `bench` measures, on cases small enough for a test."""

from __future__ import annotations

import json

import pytest

from allreduce_gen.bench import checks
from allreduce_gen.cli import run_cli


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = ((2, 256, 3600.0), (3, 768, 0.0))
    monkeypatch.setattr(checks, "CASES", cases)


def test_every_case_is_measured() -> None:
    first, second = checks.measure_checks(repeats=1)
    assert (first.num_ranks, first.size_bytes, first.repeats) == (2, 256, 1)
    assert first.seconds > 0
    assert first.cpu_seconds > 0
    assert first.peak_bytes > 1 << 20
    assert first.is_within
    assert not second.is_within


def test_the_command_fails_where_it_takes_too_long(capsys) -> None:
    assert run_cli(["bench", "--repeats", "1", "--format", "json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["schema_version"] == 1
    assert [one["is_within"] for one in data["checks"]] == [True, False]


def test_the_table_has_a_row_a_case(capsys) -> None:
    run_cli(["bench", "--repeats", "1"])
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split()[3:] == ["vector", "median", "CPU", "allowed", "peak", "memory"]
    assert first.split()[:4] == ["2", "ranks", "0", "KiB"]
    assert second.split()[:2] == ["3", "ranks"]
