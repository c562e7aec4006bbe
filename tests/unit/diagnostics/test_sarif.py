"""The SARIF form, beside what the standard's schema requires."""

from __future__ import annotations

import json

from allreduce_gen.diagnostics import (
    CODES,
    Location,
    Moment,
    Note,
    codes,
    diagnose,
    sarif_log,
)

WHERE = Location(file="kernel.py", line=74, rank=1, event=14, kind="remote_load")
RACE = diagnose(
    codes.AR401,
    "rank 1 may read it before it is stored",
    help="order them",
    location=WHERE,
    notes=(
        Note(label="other access", text="a store", location=Location(file="k.py")),
        Note(label="extent", text="2 pairs of ranks"),
    ),
    counterexample=(
        Moment(text="rank 1 reads it", location=WHERE),
        Moment(text="1 more stretch like these"),
    ),
)
WARNING = diagnose(codes.AR409, "another order", help="start from rank 0")


def _results(*findings, silenced=()):
    log = json.loads(json.dumps(sarif_log(findings, silenced, version="1.2.3")))
    (run,) = log["runs"]
    return log, run, run["results"]


def test_the_log_names_the_tool_and_its_rules() -> None:
    log, run, results = _results()
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("allreduce-gen", "1.2.3")
    assert [rule["id"] for rule in driver["rules"]] == list(CODES)
    assert all(rule["shortDescription"]["text"] for rule in driver["rules"])
    levels = {rule["defaultConfiguration"]["level"] for rule in driver["rules"]}
    assert levels == {"error", "warning"}
    assert results == []


def test_a_result_is_located_by_file_line_and_rank() -> None:
    _, run, (result,) = _results(RACE)
    assert result["ruleId"] == "AR401"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "AR401"
    assert result["level"] == "error"
    assert result["message"]["text"].startswith("rank 1 may read it before")
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "kernel.py"},
                "region": {"startLine": 74},
            },
            "logicalLocations": [{"name": "rank 1, event 14 (remote_load)"}],
        }
    ]


def test_notes_with_a_place_are_related_locations() -> None:
    _, _, (result,) = _results(RACE)
    (related,) = result["relatedLocations"]
    assert related["message"] == {"text": "other access: a store"}
    assert related["physicalLocation"] == {"artifactLocation": {"uri": "k.py"}}


def test_a_counterexample_is_a_code_flow() -> None:
    _, _, (result,) = _results(RACE)
    (flow,) = result["codeFlows"]
    (thread,) = flow["threadFlows"]
    first, last = (step["location"] for step in thread["locations"])
    assert first["physicalLocation"]["region"] == {"startLine": 74}
    assert first["message"] == {"text": "rank 1 reads it"}
    assert last == {"message": {"text": "1 more stretch like these"}}


def test_what_has_no_place_has_no_locations() -> None:
    _, _, (result,) = _results(WARNING)
    assert result["level"] == "warning"
    assert {"locations", "relatedLocations", "codeFlows", "suppressions"}.isdisjoint(
        result
    )


def test_what_is_silenced_is_suppressed() -> None:
    _, _, (result,) = _results(silenced=(WARNING,))
    assert result["suppressions"] == [{"kind": "inSource"}]


def test_absolute_paths_are_uris() -> None:
    here = diagnose(codes.AR704, "gone", help="-", location=Location(file="/a b/k.py"))
    _, _, (result,) = _results(here)
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "file:///a%20b/k.py"
