"""What pypto's frontend refuses is refused by name and line."""

from __future__ import annotations

import pytest

STATEMENTS = [
    ("me += 1", "augmented assignment", "pl.add"),
    ("assert me == 0", "assert", "static_assert"),
    ("import os", "import", "top of the file"),
    ("del me", "del", "remove"),
    ("def inner(): return 1", "nested function", "Inline"),
    ("try:\n    pass\nexcept ValueError:\n    pass", "try", "remove"),
    ("a = b = 1", "several names at once", "one assignment"),
    ("raise ValueError", "raise", "remove"),
    ("global other", "global", "parameter"),
    ("for i in range(4):\n    pass", "Python's range", "pl.range"),
    ("for i in pl.range(4):\n    break", "break", "while"),
    ("if me:\n    pass", "wanted a comparison", "me != 0"),
    ("y[0] = 1", "something else than one name", "pl.store"),
    ("a, me = (1, a)", "not defined", "bind it"),
    ("a, b = 0, 1", "assigns a list or tuple", "one assignment for each value"),
    ("a, b = me, me + 1", "assigns a list or tuple", "one assignment for each value"),
    ("pair = (me, nranks)", "assigns a list or tuple", "one assignment"),
    ("offsets = OFFSETS", "assigns a list or tuple", "one assignment"),
    ("value = True", "no such variables", "comparison"),
    ("if me == 0:\n    return me\nreturn y", "an earlier one", "one type"),
    ("pl.load(x, [0, 0], [1, 16])", "nobody uses", "bind it"),
    ("z = x\nif me == 0:\n    z = y", "memory of y on one path and of x", "both"),
    ("for i in pl.pipeline(4):\n    pass", "without `stage=`", "stages"),
    ("for i in pl.pipeline(4, stage=1.5):\n    pass", "constant integer", "stages"),
    ("t = pl.load(x, [0, 0], [1, 16])\nu = pl.cast(t, pl.FP32)", "already", "as it is"),
]
EXPRESSIONS = [
    ("0 <= me < 2", "chained comparison", "and"),
    ("1 if me == 0 else 2", "conditional expression", "if"),
    ('f"{me}"', "f-string", "text"),
    ("lambda: 1", "lambda", "in place"),
    ("[i for i in OFFSETS]", "comprehension", "pl.range"),
    ("(k := 1)", "assignment expression", "line of its own"),
    ("me ** 2", "`**`", "1 << k"),
    ("me ^ 1", "`^`", "bit"),
    ("me & 1", "`&`", "%"),
    ("me / 2", "`/`", "//"),
    ('"text"', "str values", "int"),
    ("TABLE", "dict", "int, float"),
    ('{"a": 1}', "a dict", "one name"),
    ("self.RATE", "stands alone", "module constant"),
    ("RATE", "not defined", "class attributes"),
    ("undefined", "not defined", "bind it"),
    ("min(me, 1)", "Python's min", "pl.min"),
    ("print(me)", "print", "remove"),
    ("len(OFFSETS)", "Python's len", "constant"),
    ("sorted(OFFSETS)", "Python call", "outside"),
    ("me + 1.5", "pl.FP32", "integers"),
    ("me + (me == 0)", "pl.BOOL", "integers"),
    ("me in OFFSETS", "comparison", "=="),
    ("+me", "unary plus", "plus sign"),
    ("pl.bit_xor(me, 1)", "pl.bit_xor", "InCore"),
    ("pl.read(signal, [0])", "list of 2 integers", "dimensions"),
    ("pl.world_size()", "pl.world_size", "InCore"),
    ("pld.world_size()", "not in a function of this kind", "orchestrators"),
    ("pl.const(SIZE, pl.INT32)", "no literal", "number itself"),
    ("pl.load(x, [0, 0], [1, 16]) + pl.load(x, [0, 0], [1, 16])", "tiles", "pl.add"),
    ("pl.load(x, [0, 0], [1, me])", "positive constants", "valid_shape"),
    ("pl.load(x, [0], [1, 16])", "list of 2 integers", "dimensions"),
    ("pl.load(x, [[0, 1], [0]], [1, 16])", "holds", "one integer"),
    ("OFFSETS[me]", "integer literal only", "name of its own"),
    ("OFFSETS[-1]", "integer literal only", "name of its own"),
    ("OFFSETS[3]", "takes item 3 of 3", "inside the list"),
    ("pl.load(x, [0, 0])", "lacks `shapes`", "tensor, offsets"),
    ("pld.tile.remote_load(x, me, [0, 0], [1, 16])", "cannot reach", "pld.window"),
    (
        "pld.tile.remote_load(data, peer=0, offsets=[0, 0], shape=[1, 16])",
        "bare",
        "pl.c",
    ),
    (
        "pld.tile.remote_load(data, peer=NUM_RANKS, offsets=[0, 0], shape=[1, 16])",
        "bare integer",
        "variable",
    ),
    (
        "pld.tile.remote_load(data, peer=me, offsets=[0, 0], shapes=[1, 16])",
        "`shapes=`",
        "shape",
    ),
]
SIGNALS = [
    ("pld.system.notify(signal, peer=me, offsets=[0, me], value=1)", "lacks `op`"),
    ("pld.system.wait(signal, offsets=[0, me], expected=1)", "lacks `cmp`"),
    (
        "pld.system.wait(signal, offsets=[0, me], expected=1, cmp=pld.WaitCmp.Gt)",
        "no WaitCmp",
    ),
    (
        "pld.system.wait(x, offsets=[0, me], expected=1, cmp=pld.WaitCmp.Ge)",
        "cannot reach",
    ),
    ("pld.notify(signal, me, [0, me], 1, op=pld.NotifyOp.Set)", "pld.notify"),
]


@pytest.mark.parametrize(("body", "what", "instead"), STATEMENTS)
def test_statement(refuse, first_line, body: str, what: str, instead: str) -> None:
    found = refuse(body)
    assert found.code.id == "AR703"
    assert what in found.message
    assert instead in found.help
    assert found.location.file == "kernel.py"
    assert found.location.line >= first_line


@pytest.mark.parametrize(("text", "what", "instead"), EXPRESSIONS)
def test_expression(refuse, first_line, text: str, what: str, instead: str) -> None:
    found = refuse(f"value = {text}")
    assert found.code.id == "AR703"
    assert what in found.message
    assert instead in found.help
    assert found.location.line == first_line


@pytest.mark.parametrize(("body", "what"), SIGNALS)
def test_signal(refuse, body: str, what: str) -> None:
    found = refuse(body)
    assert found.code.id == "AR703"
    assert what in found.message


def test_name_bound_in_a_loop_and_used_after_it(refuse, first_line) -> None:
    found = refuse("for i in pl.range(2):\n    k = i\nlast = k")
    assert "k is bound inside a loop or a branch" in found.message
    assert found.location.line == first_line + 2


def test_name_bound_in_one_branch_and_used_after_it(refuse) -> None:
    found = refuse("if me == 0:\n    k = 1\nlast = k")
    assert "k is bound inside a loop or a branch" in found.message


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("me", "0"),
        (
            "pl.load(x, [0, 0], [1, 16])",
            "pld.tile.remote_load(data, me, [0, 0], [1, 16])",
        ),
        ("pl.load(x, [0, 0], [1, 16])", "pl.load(x, [0, 0], [1, 32])"),
        (
            "pl.load(x, [0, 0], [1, 16])",
            "pl.load(x, [0, 0], [1, 16], valid_shape=[1, 8])",
        ),
        (
            "pl.load(x, [0, 0], [1, 16])",
            "pl.cast(pl.load(x, [0, 0], [1, 16]), pl.FP16)",
        ),
    ],
)
def test_name_rebound_to_another_type(
    refuse, first_line, first: str, second: str
) -> None:
    found = refuse(f"a = {first}\na = {second}")
    assert "a is rebound to another type" in found.message
    assert found.location.line == first_line + 1


def test_type_is_kept_across_loops(refuse) -> None:
    body = """\
    for i in pl.range(2):
        t = pl.load(x, [0, 0], [1, 16])
    for i in pl.range(2):
        t = pl.load(x, [0, 0], [1, 32])
    """
    assert "t is rebound to another type" in refuse(body).message


def test_carried_cell(refuse) -> None:
    body = """\
    t = pl.load(x, [0, 0], [1, 1])
    for i in pl.range(2):
        t = pl.add(t, t)
    """
    assert "[1, 1] tile" in refuse(body).message


def test_run_time_unroll(refuse) -> None:
    found = refuse("for i in pl.unroll(nranks):\n    pass")
    assert "pl.unroll takes constants only" in found.message


def test_loop_counting_down(refuse) -> None:
    found = refuse("for i in pl.range(4, 0, -1):\n    pass")
    assert "counts by -1" in found.message


def test_division_by_zero(refuse) -> None:
    assert "divides by zero on rank 0" in refuse("k = nranks // me").message


def test_too_many_rounds(refuse, first_line) -> None:
    body = """\
    for i in pl.range(1 << 26):
        tile = pl.load(x, [0, (i % 4) * 16], [1, 16])
    """
    found = refuse(body)
    assert "more than 1000000 events or rounds" in found.message
    assert found.location.line == first_line


def test_endless_while(refuse) -> None:
    assert "1000000" in refuse("while me == me:\n    pass").message
