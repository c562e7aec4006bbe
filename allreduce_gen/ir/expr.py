"""Integer expressions that print as pypto source and evaluate to numbers.

Arithmetic is the device's: `//` and `%` truncate toward zero. Names stand for module
constants, for `my_rank` and for loop variables; an environment gives their values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

Env: TypeAlias = Mapping[str, int]


class _Arithmetic:
    """Python's operators, building expressions."""

    __slots__ = ()

    def __add__(self, other: Expr | int) -> Expr:
        return _binary("+", self, other)

    def __sub__(self, other: Expr | int) -> Expr:
        return _binary("-", self, other)

    def __mul__(self, other: Expr | int) -> Expr:
        return _binary("*", self, other)

    def __mod__(self, other: Expr | int) -> Expr:
        return _binary("%", self, other)

    def __floordiv__(self, other: Expr | int) -> Expr:
        return _binary("//", self, other)

    def __lshift__(self, other: Expr | int) -> Expr:
        return _binary("<<", self, other)

    def __rshift__(self, other: Expr | int) -> Expr:
        return _binary(">>", self, other)

    def __lt__(self, other: Expr | int) -> Expr:
        return _binary("<", self, other)

    def __ge__(self, other: Expr | int) -> Expr:
        return _binary(">=", self, other)

    def equals(self, other: Expr | int) -> Expr:
        return _binary("==", self, other)


@dataclass(frozen=True, slots=True)
class Const(_Arithmetic):
    """A literal."""

    value: int


@dataclass(frozen=True, slots=True)
class Name(_Arithmetic):
    """A named integer."""

    name: str


@dataclass(frozen=True, slots=True)
class Binary(_Arithmetic):
    """`left op right`; a comparison is 0 or 1."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Minimum(_Arithmetic):
    """The smaller of two."""

    left: Expr
    right: Expr


Expr: TypeAlias = Const | Name | Binary | Minimum

ZERO = Const(0)
ONE = Const(1)
MY_RANK = Name("my_rank")
NUM_RANKS = Name("NUM_RANKS")


def truncating_div(left: int, right: int) -> int:
    """`left / right`, rounded toward zero as the device does."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def truncating_mod(left: int, right: int) -> int:
    """What `truncating_div` leaves over: it has the sign of `left`."""
    return left - right * truncating_div(left, right)


_EVALUATE: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": truncating_div,
    "%": truncating_mod,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "<": operator.lt,
    ">=": operator.ge,
    "==": operator.eq,
}
_PRECEDENCE = {"<": 1, ">=": 1, "==": 1, "<<": 2, ">>": 2, "+": 3, "-": 3}
_PRODUCT = 4  # * // %


def as_expr(value: Expr | int) -> Expr:
    """`value`, an int made a literal."""
    return Const(value) if isinstance(value, int) else value


def _binary(op: str, left: object, right: Expr | int) -> Expr:
    """`left op right`, where adding nothing and multiplying by one leave no trace."""
    assert isinstance(left, Const | Name | Binary | Minimum)
    right = as_expr(right)
    if op == "+" and isinstance(left, Const) and isinstance(right, Const):
        return Const(left.value + right.value)
    if op == "+" and isinstance(right, Binary) and right.op == "+":
        return left + right.left + right.right
    if (op, left) in (("+", ZERO), ("*", ONE)):
        return right
    if (op, right) in (("+", ZERO), ("*", ONE)):
        return left
    return Binary(op, left, right)


def evaluate(expr: Expr, env: Env) -> int:
    """The number that `expr` stands for where names have the values of `env`.

    Raises KeyError for a name that `env` lacks.
    """
    match expr:
        case Const(value):
            return value
        case Name(name):
            return env[name]
        case Binary(op, left, right):
            return int(_EVALUATE[op](evaluate(left, env), evaluate(right, env)))
        case Minimum(left, right):
            return min(evaluate(left, env), evaluate(right, env))
        case _:
            assert_never(expr)


def format_expr(expr: Expr) -> str:
    """`expr` as pypto source, with no more parentheses than it needs."""
    return _format(expr, 0)


def _format(expr: Expr, outer: int) -> str:
    match expr:
        case Const(value):
            return str(value)
        case Name(name):
            return name
        case Minimum(left, right):
            return f"pl.min({_format(left, 0)}, {_format(right, 0)})"
        case Binary(op, left, right):
            level = _PRECEDENCE.get(op, _PRODUCT)
            shifts = op in ("<<", ">>")  # by a sum: clearer in parentheses
            inner = _PRODUCT + 1 if shifts else level + 1
            text = f"{_format(left, level)} {op} {_format(right, inner)}"
            return f"({text})" if level < outer else text
        case _:
            assert_never(expr)
