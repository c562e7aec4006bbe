"""What pypto makes of arithmetic, once it has put in the numbers that it knows.

It knows those of names that are bound to constants, and of loops that it unrolls: there
`x + 4 - s` is `x + 3` in the round of 1, where else it would be `x - s + 4`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from .affine import concrete
from .machine import Frame
from .rewriting import add, div, mod, mul, sub
from .terms import (
    Difference,
    Leaf,
    Product,
    Quotient,
    Remainder,
    Sum,
    Term,
    as_operand,
    evaluate,
    is_number,
    numbers_in,
)

_LAWS: dict[type, Callable[[Term, Term], Term]] = {
    Sum: add,
    Difference: sub,
    Product: mul,
    Quotient: div,
    Remainder: mod,
}


def simplify(term: Term, known: Mapping[Leaf, int]) -> Term:
    """What pypto makes of `term`, as it is written, where it knows some leaves."""
    match term:
        case int():
            return term
        case Leaf():
            return known.get(term, term)
    left, right = simplify(term.left, known), simplify(term.right, known)
    return _LAWS[type(term)](left, right)


def make(term: Term) -> Callable[[Frame], Term]:
    """What pypto makes of `term` in the round that a frame is in."""
    numbers = numbers_in(term)

    @functools.cache
    def made(*values: int) -> Term:
        return simplify(term, dict(zip(numbers, values, strict=True)))

    return lambda frame: made(*(concrete(one.run(frame)) for one in numbers))


def opaque(term: Term) -> Term:
    """`term`, with nothing looking into it."""
    if isinstance(term, int | Leaf):
        return term
    made = make(term)
    return Leaf(
        as_operand(term),
        lambda frame: evaluate(made(frame), frame),
        is_number=is_number(term),
    )
