"""What the real compiler makes of index arithmetic, as seen in its output."""

from __future__ import annotations

import ast

import pytest

from allreduce_gen.frontend.rewriting import add, div, mod, mul, sub
from allreduce_gen.frontend.terms import Leaf, Term, format_term

_LAWS = {ast.Add: add, ast.Sub: sub, ast.Mult: mul, ast.FloorDiv: div, ast.Mod: mod}


def _term(node: ast.expr) -> Term:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return Leaf(name, lambda _: 0)
        case ast.BinOp(left=left, op=op, right=right):
            return _LAWS[type(op)](_term(left), _term(right))
    raise AssertionError(ast.unparse(node))


@pytest.mark.parametrize(
    ("source", "made"),
    [
        ("(r + 4 - s) % 4", "(r - s) % 4"),
        ("(r - s + 4) % 4", "(r - s) % 4"),
        ("(r - 1 + 4) % 4", "(r - 1) % 4"),
        ("(r + 4 - 1) % 4", "(r + 3) % 4"),
        ("(4 - 1 + r) % 4", "(r + 3) % 4"),
        ("(r + 3 * s) % 4", "(r + (s * 3)) % 4"),
        ("(r + 4 * s - s) % 4", "((r + (s * 4)) - s) % 4"),
        ("(4 * s + (r - s)) % 4", "(r - s) % 4"),
        ("(r + (3 - s)) % 4", "((r - s) + 3) % 4"),
        ("(7 + (r - 5)) % 4", "((r - 5) + 3) % 4"),
        ("((r - 1) * 4 + s) % 4", "s % 4"),
        ("(r + s - (s - 1)) % 4", "(r + 1) % 4"),
        ("(s + s + (s - 3)) % 2", "(s - 3) % 2"),
        ("(r - (s - 4)) % 4", "(r - s) % 4"),
        ("(12 - s - r) % 4", "((12 - s) - r) % 4"),
        ("(s - 3 + 6) // 2", "((s - 3) // 2) + 3"),
        ("(r + 4 - s) // 2", "((r - s) // 2) + 2"),
        ("(s * 8 + r - 1) // 8", "(((s * 8) + r) - 1) // 8"),
        ("((r + 1) * 4 - s) // 4", "(((r * 4) - s) // 4) + 1"),
        ("(r // 2 + 1) // 2", "(r + 2) // 4"),
        ("(r * 8 + s) // 4", "(r * 2) + (s // 4)"),
        ("r * 4 // 8", "r // 2"),
        ("(s - (r + s)) % 4", "-r % 4"),
        ("r - r", "0"),
        ("r * s + r * 3", "(s + 3) * r"),
        ("(r - s) * (0 - 2)", "(s - r) * 2"),
        ("8 - r + 3", "(8 - r) + 3"),
        ("r % 1 + s // 1 + 0 * r + 1 * s", "s * 2"),
    ],
)
def test_what_is_made(source: str, made: str) -> None:
    assert format_term(_term(ast.parse(source, mode="eval").body)) == made
