"""The laws by which pypto simplifies index arithmetic before it makes code of it.

They hold for division that rounds down. The device's truncates, so a law that takes
a multiple of the divisor out of a numerator, and leaves a negative one, changes what
is computed. Which laws there are, and which comes first, decides that: `x - 1 + 4`
keeps its 4 until the division, and `x + 4 - 1` becomes `x + 3`. Of `c - x + d`, either
constant may be the one that is reduced: here both are.

Each function takes operands that are simplified, and gives a simplified term.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .terms import Difference, Product, Quotient, Remainder, Sum, Term, negate, span

_Join = Callable[[Term, Term], Term]


def add(a: Term, b: Term) -> Term:
    """`a + b`."""
    match a, b:
        case (int(), int()):
            return a + b
        case (x, 0) | (0, x):
            return x
        case (Sum(x, int(c)), int()):
            return add(x, c + b)
        case (Difference(x, y), _) if y == b:
            return x
        case (_, Difference(y, x)) if x == a:
            return y
        case (Difference(x, y), Difference(z, w)) if y == z:
            return sub(x, w)
        case (Difference(x, y), Difference(z, w)) if x == w:
            return sub(z, y)
    gathered = _gather(a, b, add)
    return _add_constants(a, b) if gathered is None else gathered


def _add_constants(a: Term, b: Term) -> Term:
    """Constants move to the right; those of `x - c` and `c - x` stay where they are."""
    match a, b:
        case (int(), _):
            return add(b, a)
        case (Difference(int(), _), int()):
            return Sum(a, b)
        case (_, Difference(int(c), y)):
            return add(sub(a, y), c)
        case (Difference(int(c), y), _):
            return add(sub(b, y), c)
        case (Sum(x, int(c)), _):
            return add(add(x, b), c)
    return Sum(a, b)


def sub(a: Term, b: Term) -> Term:
    """`a - b`."""
    match a, b:
        case (int(), int()):
            return a - b
        case (x, 0):
            return x
        case _ if a == b:
            return 0
        case (Sum(x, y), _) if b in (x, y):
            return x if b == y else y
        case (_, Sum(x, y)) if a in (x, y):
            return negate(y if a == x else x)
        case (Sum(x, int(c)), int()):
            return add(x, c - b)
        case (int(), Difference(int(c), x)):
            return add(x, a - c)
        case (int(), Sum(x, int(c))):
            return sub(a - c, x)
        case (Difference(int(c), x), Difference(int(d), y)):
            return add(sub(y, x), c - d)
        case (Difference(x, y), Difference(z, w)) if x == z:
            return sub(w, y)
        case (Sum(), Sum()):
            for x, y in _sides(a):
                for z, w in _sides(b):
                    if x == z:
                        return sub(y, w)
    gathered = _gather(a, b, sub)
    return _sub_constants(a, b) if gathered is None else gathered


def _sub_constants(a: Term, b: Term) -> Term:
    match a, b:
        case (_, Product(Quotient(x, int(c)), int(d))) if c == d and x == a:
            return mod(x, c)
        case (_, Sum(y, int(c))):
            return add(sub(a, y), -c)
        case (Sum(x, int(c)), _):
            return add(sub(x, b), c)
        case (_, Difference(y, z)):
            return sub(add(a, z), y)
    return Difference(a, b)


def _gather(a: Term, b: Term, join: _Join) -> Term | None:
    """`x*y + x*z` as `(y + z) * x`, with x alone as `x*1`; for a difference alike."""
    if a == b:
        return mul(a, 2)
    match a, b:
        case (Product(x, y), _) if x == b:
            return mul(join(y, 1), x)
        case (_, Product(x, y)) if x == a:
            return mul(join(1, y) if join is sub else join(y, 1), x)
        case (Product(), Product()):
            for x, y in _sides(a):
                for z, w in _sides(b):
                    if x == z:
                        return mul(join(y, w), x)
    return None


def _sides(term: Sum | Product) -> Iterator[tuple[Term, Term]]:
    yield term.left, term.right
    yield term.right, term.left


def mul(a: Term, b: Term) -> Term:
    """`a * b`."""
    match a, b:
        case (int(), int()):
            return a * b
        case (x, 1) | (1, x):
            return x
        case (_, 0) | (0, _):
            return 0
        case (Product(x, int(c)), int()):
            return mul(x, c * b)
        case (int(), _):
            return mul(b, a)
        case (Sum(x, int(c)), int()):
            return add(mul(x, b), c * b)
        case (Difference(x, y), int()) if b < 0:
            return mul(sub(y, x), -b)
    return Product(a, b)


def div(a: Term, b: Term) -> Term:
    """`a // b`."""
    if not isinstance(b, int) or b <= 0:
        return Quotient(a, b)
    match a:
        case int():
            return a // b
        case _ if b == 1:
            return a
        case Product(x, int(c)) if c % b == 0:
            return mul(x, c // b)
        case Product(x, int(c)) if c > 0 and b % c == 0:
            return div(x, b // c)
        case Quotient(x, int(c)) if c > 0:
            return div(x, c * b)
        case Sum(Quotient(x, int(c)), int(d)) if c > 0:
            return div(add(x, c * d), c * b)
        case Sum(Difference(int(c), x), int(d)) if c % b != c or d % b != d:
            rest = Sum(Difference(c % b, x), d % b)
            return add(Quotient(rest, b), c // b + d // b)
        case Sum(x, int(c)) if c % b == 0:
            return add(div(x, b), c // b)
        case Sum(Product(x, int(c)), y) if c % b == 0:
            return add(mul(x, c // b), div(y, b))
        case Sum(y, Product(x, int(c))) if c % b == 0:
            return add(div(y, b), mul(x, c // b))
        case Difference(x, Remainder(y, int(c))) if c == b and x == y:
            return div(x, b)
        case _ if _is_below(a, b):
            return 0
    return Quotient(a, b)


def mod(a: Term, b: Term) -> Term:
    """`a % b`."""
    if not isinstance(b, int) or b <= 0:
        return Remainder(a, b)
    match a:
        case int():
            return a % b
        case _ if b == 1:
            return 0
        case Product(_, int(c)) if c % b == 0:
            return 0
        case Sum(Difference(int(c), x), int(d)) if c % b != c or d % b != d:
            return Remainder(Sum(Difference(c % b, x), d % b), b)
        case Sum(x, int(c)) if c % b == 0:
            return mod(x, b)
        case Sum(Product(_, int(c)), y) if c % b == 0:
            return mod(y, b)
        case Sum(y, Product(_, int(c))) if c % b == 0:
            return mod(y, b)
        case Product(x, int(c)) if c % b != c:
            return mod(mul(x, c % b), b)
        case Sum(y, Product(x, int(c))) if c % b != c:
            return mod(add(y, mul(x, c % b)), b)
        case Sum(x, int(c)) if c % b != c:
            return mod(add(x, c % b), b)
        case _ if _is_below(a, b):
            return a
    return Remainder(a, b)


def _is_below(a: Term, b: int) -> bool:
    """Whether pypto knows that `a` is from 0 to less than `b`."""
    ends = span(a)
    return ends is not None and ends[0] >= 0 and ends[1] < b
