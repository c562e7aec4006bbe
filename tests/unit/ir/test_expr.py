"""Expressions print as they evaluate, with the device's arithmetic."""

import pytest

from allreduce_gen.ir.expr import (
    MY_RANK,
    NUM_RANKS,
    Const,
    Expr,
    Minimum,
    Name,
    evaluate,
    format_expr,
    truncating_div,
    truncating_mod,
)

T = Name("t")


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        ((MY_RANK + T) % NUM_RANKS, "(my_rank + t) % NUM_RANKS"),
        (MY_RANK + T * 4, "my_rank + t * 4"),
        ((MY_RANK + T) * 4, "(my_rank + t) * 4"),
        (MY_RANK - (T - 1), "my_rank - (t - 1)"),
        (MY_RANK // (T * 2), "my_rank // (t * 2)"),
        (Const(1) << T, "1 << t"),
        ((Const(1) << T) * 2, "(1 << t) * 2"),
        (Minimum(T, NUM_RANKS - T), "pl.min(t, NUM_RANKS - t)"),
        (MY_RANK * 4 < NUM_RANKS, "my_rank * 4 < NUM_RANKS"),
        ((MY_RANK % 2).equals(1), "my_rank % 2 == 1"),
        (Const(0) + T * 1, "t"),
    ],
)
def test_printed_form_is_what_evaluates(expr: Expr, text: str) -> None:
    assert format_expr(expr) == text
    for my_rank in range(5):
        env = {"my_rank": my_rank, "t": 3, "NUM_RANKS": 5}
        names = env | {"pl": type("pl", (), {"min": staticmethod(min)})}
        assert evaluate(expr, env) == eval(text, {}, names)


@pytest.mark.parametrize(
    ("left", "right", "quotient", "rest"),
    [(7, 4, 1, 3), (-1, 4, 0, -1), (-7, 4, -1, -3), (7, -4, -1, 3), (8, 4, 2, 0)],
)
def test_division_truncates_toward_zero(
    left: int, right: int, quotient: int, rest: int
) -> None:
    assert truncating_div(left, right) == quotient
    assert truncating_mod(left, right) == rest


def test_unknown_name_is_an_error() -> None:
    with pytest.raises(KeyError, match="t"):
        evaluate(T, {})
