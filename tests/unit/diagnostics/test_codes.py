"""The registry of codes: complete, in order, with texts that can be printed."""

from __future__ import annotations

import re

import pytest

from allreduce_gen.diagnostics import CODES, Code, Severity, codes, find_code

WARNINGS = {"AR302", "AR310", "AR311", "AR409", "AR411"}
NUM_CODES = {"1": 7, "2": 1, "3": 12, "4": 11, "5": 6, "6": 4, "7": 7, "8": 4, "9": 1}


def every_code() -> list[Code]:
    return list(CODES.values())


def test_ids_ascend_and_name_their_codes() -> None:
    assert list(CODES) == sorted(CODES)
    assert [code.id for code in every_code()] == list(CODES)


def test_names_are_unique() -> None:
    names = [code.name for code in every_code()]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize(("family", "count"), NUM_CODES.items())
def test_each_family_has_consecutive_numbers(family: str, count: int) -> None:
    numbers = [int(id[3:]) for id in CODES if id[2] == family]
    assert numbers == list(range(1, count + 1))


def test_every_constant_is_in_the_registry() -> None:
    constants = {name for name in vars(codes) if re.fullmatch(r"AR\d{3}", name)}
    assert constants == set(CODES)
    assert all(getattr(codes, name) is CODES[name] for name in constants)


@pytest.mark.parametrize("code", every_code(), ids=lambda code: code.id)
def test_a_code_has_a_kebab_case_name_and_all_texts(code: Code) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", code.name)
    for text in (code.what, code.why, code.fix):
        assert len(text) > 30
        assert text.endswith((".", ".)"))
        assert "\n" not in text
        assert "  " not in text


@pytest.mark.parametrize("code", every_code(), ids=lambda code: code.id)
def test_an_example_is_neither_empty_nor_wide(code: Code) -> None:
    lines = code.example.splitlines()
    assert lines
    assert all(line == line.rstrip() and len(line) <= 88 for line in lines)
    assert lines[0].strip()
    assert lines[-1].strip()


def test_only_the_stated_codes_are_warnings() -> None:
    warnings = {one.id for one in every_code() if one.severity is Severity.WARNING}
    assert warnings == WARNINGS


def test_texts_name_only_codes_that_exist() -> None:
    for code in every_code():
        texts = " ".join((code.what, code.why, code.example, code.fix))
        assert set(re.findall(r"AR\d{3}", texts)) <= set(CODES)


@pytest.mark.parametrize("spelling", ["AR303", "ar303", "Ar303"])
def test_find_code_ignores_case(spelling: str) -> None:
    assert find_code(spelling) is codes.AR303


@pytest.mark.parametrize(
    "unknown", ["", "AR000", "303", "AR3033", "signal-slot-reused"]
)
def test_find_code_gives_none_for_what_it_does_not_know(unknown: str) -> None:
    assert find_code(unknown) is None
