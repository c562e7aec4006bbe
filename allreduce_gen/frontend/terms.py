"""Index arithmetic as a tree: what pypto rewrites, and what the device computes of it.

A number is an int. What is no arithmetic, a name or a call, is a Leaf: nothing looks
through it, but pypto may know which number it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from allreduce_gen.ir.expr import truncating_div, truncating_mod

from .affine import concrete
from .machine import Frame


@dataclass(frozen=True, slots=True)
class Leaf:
    """Equal to another where both are written alike.

    `is_number` says that pypto knows its value, each time that it is computed. `span`
    is the least and the greatest one, where pypto knows those.
    """

    text: str
    run: Callable[[Frame], Any] = field(compare=False, repr=False)
    is_number: bool = field(default=False, compare=False)
    span: tuple[int, int] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Sum:
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Difference:
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Product:
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Quotient:
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Remainder:
    left: Term
    right: Term


Term: TypeAlias = int | Leaf | Sum | Difference | Product | Quotient | Remainder


def evaluate(term: Term, frame: Frame) -> int:
    """The device's value of `term`: its divisions truncate toward zero."""
    match term:
        case int():
            return term
        case Leaf(run=run):
            return concrete(run(frame))
    left, right = evaluate(term.left, frame), evaluate(term.right, frame)
    match term:
        case Sum():
            return left + right
        case Difference():
            return left - right
        case Product():
            return left * right
        case Quotient():
            return truncating_div(left, right)
        case Remainder():
            return truncating_mod(left, right)


def span(term: Term) -> tuple[int, int] | None:
    """The least and the greatest value of `term`, as far as pypto knows.

    To pypto, division rounds down, and so a remainder is never negative.
    """
    match term:
        case int():
            return term, term
        case Leaf():
            return term.span
        case Remainder(right=int(by)) if by > 0:
            return 0, by - 1
    left, right = span(term.left), span(term.right)
    if left is None or right is None:
        return None
    match term:
        case Sum():
            return left[0] + right[0], left[1] + right[1]
        case Difference():
            return left[0] - right[1], left[1] - right[0]
        case Product():
            ends = [one * other for one in left for other in right]
            return min(ends), max(ends)
        case Quotient(right=int(by)) if by > 0:
            return left[0] // by, left[1] // by
    return None


def is_number(term: Term) -> bool:
    """Whether pypto knows the value of `term`."""
    match term:
        case int():
            return True
        case Leaf():
            return term.is_number
    return is_number(term.left) and is_number(term.right)


def numbers_in(term: Term) -> tuple[Leaf, ...]:
    """The leaves of `term` that are numbers, each once."""
    match term:
        case int():
            return ()
        case Leaf():
            return (term,) if term.is_number else ()
    return tuple(dict.fromkeys(numbers_in(term.left) + numbers_in(term.right)))


def negate(term: Term) -> Term:
    """`-term`, into which no law looks."""
    if isinstance(term, int):
        return -term
    return Leaf(f"-{as_operand(term)}", lambda frame: -evaluate(term, frame))


def format_term(term: Term) -> str:
    """`term` as it would be written in a kernel."""
    match term:
        case int():
            return str(term)
        case Leaf(text=text):
            return text
    return f"{as_operand(term.left)} {_SYMBOLS[type(term)]} {as_operand(term.right)}"


def as_operand(term: Term) -> str:
    """`term` as it would be written as a part of another."""
    text = format_term(term)
    return text if isinstance(term, int | Leaf) else f"({text})"


_SYMBOLS: dict[type, str] = {
    Sum: "+",
    Difference: "-",
    Product: "*",
    Quotient: "//",
    Remainder: "%",
}
