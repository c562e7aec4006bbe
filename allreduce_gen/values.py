"""Values that a caller gives: what a field takes, and the refusal of anything else."""

from __future__ import annotations

import enum
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .diagnostics import Diagnostic, codes, diagnose
from .errors import SpecError


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a field takes. `read` gives what a value means.

    It raises TypeError or ValueError for one that means nothing. `kind` says what such
    a value is not, `wanted` what to give in its place.
    """

    kind: str
    wanted: str
    read: Callable[[Any], Any]


def read_value(field: str, value: Any, rule: Rule) -> Any:
    """What `value` means for `field`. Raises SpecError (AR107) where it means nothing.

    The error says the field, what was seen, and what is wanted.
    """
    try:
        return rule.read(value)
    except (TypeError, ValueError):
        raise SpecError([_refusal(field, value, rule)]) from None


def read_fields(record: Any, rules: Mapping[str, Rule]) -> None:
    """Put what each value means into the frozen dataclass `record`, by field.

    Raises SpecError (AR107) with every field whose value means nothing.
    """
    refused: list[Diagnostic] = []
    for field, rule in rules.items():
        try:
            value = read_value(field, getattr(record, field), rule)
        except SpecError as error:
            refused += error.diagnostics
        else:
            object.__setattr__(record, field, value)
    if refused:
        raise SpecError(refused)


def _refusal(field: str, value: Any, rule: Rule) -> Diagnostic:
    return diagnose(
        codes.AR107,
        f"{field}={value!r} is not {rule.kind}",
        help=f"give {field} {rule.wanted}",
    )


def word_of(kind: type[enum.Enum]) -> Rule:
    """A member of `kind`, or its word; a hyphen stands for an underscore."""
    members = {_plain(member.value): member for member in kind}

    def read(value: Any) -> enum.Enum:
        return value if isinstance(value, kind) else _find(members, value)

    words = ", ".join(member.value for member in kind)
    return Rule(kind=f"a word of {kind.__name__}", wanted=f"one of {words}", read=read)


def name_of(what: str, names: Iterable[str]) -> Rule:
    """One of `names`, each of which is the name of `what`."""
    known = {name: name for name in names}
    return Rule(
        kind=f"the name of {what}",
        wanted=f"one of {', '.join(known)}",
        read=lambda value: _find(known, value),
    )


def _plain(word: str) -> str:
    return word.replace("-", "_")


def _find(known: Mapping[str, Any], value: Any) -> Any:
    if not isinstance(value, str) or _plain(value) not in known:
        raise ValueError(value)
    return known[_plain(value)]


def optional(rule: Rule) -> Rule:
    """None, or what `rule` takes."""
    return Rule(
        kind=f"{rule.kind} or None",
        wanted=f"{rule.wanted}, or None",
        read=lambda value: None if value is None else rule.read(value),
    )


def _whole(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError(value)
    return operator.index(value)


def _numbers(value: Any) -> tuple[int, ...]:
    return tuple(map(_whole, value))


def _pair(value: Any) -> tuple[int, int]:
    first, second = _numbers(value)
    return first, second


def _seconds(value: Any) -> float:
    if isinstance(value, bool | str) or not 0 < float(value) < math.inf:
        raise ValueError(value)
    return float(value)


def _devices(value: Any) -> tuple[int, ...]:
    ids = _numbers(value)
    if not ids or min(ids) < 0 or len(set(ids)) < len(ids):
        raise ValueError(value)
    return ids


def _instance(kind: type[Any]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, kind):
            raise TypeError(value)
        return value

    return read


WHOLE = Rule(kind="a whole number", wanted="an int", read=_whole)
FLAG = Rule(kind="a flag", wanted="True or False", read=_instance(bool))
TEXT = Rule(kind="text", wanted="a str", read=_instance(str))
NUMBERS = Rule(kind="a sequence of ints", wanted="a tuple of ints", read=_numbers)
PAIR = Rule(kind="a pair of ints", wanted="two ints", read=_pair)
SECONDS = Rule(kind="a time limit", wanted="seconds above 0", read=_seconds)
DEVICES = Rule(
    kind="a list of device ids",
    wanted="different ids from 0 up, one a rank",
    read=_devices,
)
