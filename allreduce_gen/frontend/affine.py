"""Integers of a kernel's scalars: plain, or affine in the rounds of loops.

A loop that is traced without unrolling runs its body once, with the number of the round
as a Symbol. Sums and products stay affine. What is not raises NotAffineError: the loop
then unrolls, or is cut in two where a comparison changes its mind.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from math import gcd
from typing import TypeAlias


@dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """The number of the round, 0 to `count` - 1, of one loop that is not unrolled."""

    count: int


class NotAffineError(Exception):
    """The loop of `symbol` cannot be one Repeat.

    `split` is the round at which a comparison changes its mind, or None where no cut
    helps and the loop must unroll.
    """

    def __init__(self, symbol: Symbol, split: int | None = None) -> None:
        super().__init__()
        self.symbol = symbol
        self.split = split


@dataclass(frozen=True, slots=True)
class Affine:
    """`base` plus each coefficient times its symbol; no coefficient is zero."""

    base: int
    terms: tuple[tuple[Symbol, int], ...]

    def __add__(self, other: Scalar) -> Scalar:
        if isinstance(other, int):
            return Affine(self.base + other, self.terms)
        terms = dict(self.terms)
        for symbol, coefficient in other.terms:
            terms[symbol] = terms.get(symbol, 0) + coefficient
        return _affine(self.base + other.base, terms)

    def __radd__(self, other: int) -> Scalar:
        return self + other

    def __neg__(self) -> Affine:
        return Affine(-self.base, tuple((one, -by) for one, by in self.terms))

    def __sub__(self, other: Scalar) -> Scalar:
        return self + -other

    def __rsub__(self, other: int) -> Scalar:
        return -self + other

    def __mul__(self, other: Scalar) -> Scalar:
        if not isinstance(other, int):
            raise NotAffineError(shortest(self))
        return _affine(self.base * other, {one: by * other for one, by in self.terms})

    def __rmul__(self, other: int) -> Scalar:
        return self * other


Scalar: TypeAlias = int | Affine

_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _affine(base: int, terms: dict[Symbol, int]) -> Scalar:
    kept = tuple((symbol, by) for symbol, by in terms.items() if by)
    return Affine(base, kept) if kept else base


def shortest(value: Affine) -> Symbol:
    """The symbol with the fewest rounds: the cheapest to unroll."""
    return min((symbol for symbol, _ in value.terms), key=lambda one: one.count)


def concrete(value: Scalar) -> int:
    """`value` where it must be one number in all rounds; else NotAffineError."""
    if isinstance(value, int):
        return value
    raise NotAffineError(shortest(value))


def base_of(value: Scalar) -> int:
    """`value` in the first round of every loop."""
    return value if isinstance(value, int) else value.base


def coefficient(value: Scalar, symbol: Symbol) -> int:
    """How much `value` grows with each round of the loop of `symbol`."""
    return 0 if isinstance(value, int) else dict(value.terms).get(symbol, 0)


def last_round(value: Scalar, symbol: Symbol) -> Scalar:
    """`value` as the last round of the loop of `symbol` leaves it."""
    by = coefficient(value, symbol)
    if not by or isinstance(value, int):
        return value
    terms = {one: step for one, step in value.terms if one is not symbol}
    return _affine(value.base + by * (symbol.count - 1), terms)


def compare(op: str, left: Scalar, right: Scalar) -> bool:
    """`left op right`, where it is the same in all rounds; else NotAffineError."""
    difference = left - right
    if isinstance(difference, int):
        return _COMPARE[op](difference, 0)
    reach = [by * (symbol.count - 1) for symbol, by in difference.terms]
    low = difference.base + sum(step for step in reach if step < 0)
    high = difference.base + sum(step for step in reach if step > 0)
    verdict = _decided(op, low, high)
    if verdict is None and difference.base % gcd(*(by for _, by in difference.terms)):
        verdict = {"==": False, "!=": True}.get(op)  # it steps over zero
    if verdict is None:
        raise _undecided(op, difference)
    return verdict


def _decided(op: str, low: int, high: int) -> bool | None:
    """Whether `x op 0` for every x from `low` to `high`, or None where it varies."""
    if op in ("==", "!="):
        return (op == "!=") if low > 0 or high < 0 else None
    at_low, at_high = _COMPARE[op](low, 0), _COMPARE[op](high, 0)
    return at_low if at_low == at_high else None


def _undecided(op: str, difference: Affine) -> NotAffineError:
    """The cut at the first round whose answer is not that of round 0."""
    symbol = shortest(difference)
    if len(difference.terms) > 1:
        return NotAffineError(symbol)
    base, by = difference.base, difference.terms[0][1]
    at_start = _COMPARE[op](base, 0)
    near = max(1, -base // by)
    for split in range(near, near + 3):
        if split < symbol.count and _COMPARE[op](base + by * split, 0) != at_start:
            return NotAffineError(symbol, split)
    return NotAffineError(symbol)
