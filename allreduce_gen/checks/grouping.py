"""What one line does wrong on many ranks is one finding."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from allreduce_gen.diagnostics import Diagnostic, Location, Note

from .wording import name_ranks, plural

_Key: TypeAlias = tuple[object, ...]


def group(findings: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """The first finding of each code and line; a note names the ranks of the others."""
    groups: dict[_Key, list[Diagnostic]] = {}
    for one in findings:
        groups.setdefault(_key(one), []).append(one)
    for first, *others in groups.values():
        yield _with_others(first, others)


def _key(one: Diagnostic) -> _Key:
    where = one.location or Location()
    if where.event is None:
        return (one.code.id, one.severity)
    if where.file is None and where.step is None:
        return (one.code.id, one.severity, where.kind, where.event, one.message)
    return (one.code.id, one.severity, where.file, where.line, where.step, where.kind)


def _with_others(first: Diagnostic, others: list[Diagnostic]) -> Diagnostic:
    if not others:
        return first
    ranks = [
        one.location.rank
        for one in others
        if one.location is not None and one.location.rank is not None
    ]
    text = f"{plural(len(others), 'more like it', 'more like it')}"
    text += f" on {name_ranks(ranks)}" if ranks else ""
    return dataclasses.replace(
        first, notes=(*first.notes, Note(label="also", text=text))
    )


def sort_findings(findings: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Errors first, then by code and place: the same order every time."""
    return tuple(sorted(findings, key=_sort_key))


def _sort_key(one: Diagnostic) -> _Key:
    where = one.location or Location()
    numbers = (where.line, where.rank, where.event)
    return (
        not one.is_error,
        one.code.id,
        where.file or "",
        where.step or "",
        *(-1 if number is None else number for number in numbers),
        one.message,
    )
