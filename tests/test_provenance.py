"""Collectives as source files: what outputs hold, by rank and index range."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from allreduce_gen.checks import Collective
from allreduce_gen.verdicts import CheckedProgram, check_file

from .sources import MESH_WINDOWS, STAGE_IN, barrier, line_of, ring, write_program

_REDUCE = """\
acc = pl.load(data, [0, my_rank * CHUNK], [1, CHUNK])
for step in pl.range(1, NUM_RANKS):
    peer = (my_rank + step) % NUM_RANKS
    part = pld.tile.remote_load(
        data, peer=peer, offsets=[0, my_rank * CHUNK], shape=[1, CHUNK]
    )
    acc = pl.add(acc, part)
y = pl.store(acc, [0, 0], y)"""

_GATHER = """\
for step in pl.range(NUM_RANKS):
    peer = (my_rank + step) % NUM_RANKS
    part = pld.tile.remote_load(data, peer=peer, offsets=[0, 0], shape=[1, SIZE])
    y = pl.store(part, [0, peer * SIZE], y)"""

_BROADCAST = """\
root = my_rank - my_rank + 1
part = pld.tile.remote_load(data, peer=root, offsets=[0, 0], shape=[1, SIZE])
y = pl.store(part, [0, 0], y)"""

_EXCHANGE = """\
for step in pl.range(NUM_RANKS):
    peer = (my_rank + step) % NUM_RANKS
    part = pld.tile.remote_load(
        data, peer=peer, offsets=[0, my_rank * CHUNK], shape=[1, CHUNK]
    )
    y = pl.store(part, [0, peer * CHUNK], y)"""

_PROGRAMS = {
    Collective.REDUCE_SCATTER: (_REDUCE, "SIZE // NUM_RANKS"),
    Collective.ALL_GATHER: (_GATHER, "SIZE * NUM_RANKS"),
    Collective.BROADCAST: (_BROADCAST, "SIZE"),
    Collective.ALL_TO_ALL: (_EXCHANGE, "SIZE"),
}


def _write(collective: Collective, num_ranks: int, *edits: tuple[str, str]) -> str:
    """The program, its chunk 16 long, with words of its last phase exchanged."""
    last, out = _PROGRAMS[collective]
    for before, after in edits:
        assert before in last
        last = last.replace(before, after)
    return write_program(
        STAGE_IN,
        barrier(),
        last,
        num_ranks=num_ranks,
        windows=MESH_WINDOWS,
        out=out,
        dtype="INT32",
    )


def _check(folder: Path, text: str) -> CheckedProgram:
    path = folder / "kernel.py"
    path.write_text(text)
    (checked,) = check_file(path)
    return checked


@pytest.mark.parametrize("num_ranks", [2, 3, 4, 8])
@pytest.mark.parametrize("collective", _PROGRAMS)
def test_a_right_program_is_recognised(
    tmp_path: Path, collective: Collective, num_ranks: int
) -> None:
    checked = _check(tmp_path, _write(collective, num_ranks))
    assert checked.collective is collective
    assert checked.findings == ()


FAULTS: list[tuple[Collective, tuple[str, str], str, str, str]] = [
    (
        Collective.REDUCE_SCATTER,
        ("range(1, NUM_RANKS)", "range(2, NUM_RANKS)"),
        "AR405",
        "y[0:16] of rank 0 lacks what rank 1 contributes",
        "y = pl.store",
    ),
    (
        Collective.REDUCE_SCATTER,
        ("range(1, NUM_RANKS)", "range(NUM_RANKS)"),
        "AR406",
        "y[0:16] of rank 0 counts rank 0 2 times",
        "y = pl.store",
    ),
    (
        Collective.REDUCE_SCATTER,
        ("y = pl.store", "acc = pl.add(acc, 3)\ny = pl.store"),
        "AR410",
        "y[0:16] of rank 0 holds the constant 3: no rank's input elements",
        "y = pl.store",
    ),
    (
        Collective.REDUCE_SCATTER,
        (
            "    acc = pl.add(acc, part)",
            "    if my_rank == 3:\n        acc = pl.maximum(acc, part)\n"
            "    else:\n        acc = pl.add(acc, part)",
        ),
        "AR410",
        "y is made by two operators: maximum in y[0:16] of rank 3, but sum in y[0:16] "
        "of ranks 0, 1 and 2",
        "y = pl.store",
    ),
    (
        Collective.REDUCE_SCATTER,
        ("offsets=[0, my_rank * CHUNK]", "offsets=[0, peer * CHUNK]"),
        "AR408",
        "y[0:16] of rank 0 holds x[16:32] of rank 1 where x[0:16] of rank 1 belongs",
        "y = pl.store",
    ),
    (
        Collective.ALL_GATHER,
        ("pl.range(NUM_RANKS)", "pl.range(1, NUM_RANKS)"),
        "AR405",
        "y[0:64] of rank 0 is never written",
        "",
    ),
    (
        Collective.ALL_GATHER,
        ("peer * SIZE]", "(peer + 1) % NUM_RANKS * SIZE]"),
        "AR408",
        "y[0:64] of rank 0 holds x[0:64] of rank 3 where x[0:64] of rank 0 belongs",
        "y = pl.store",
    ),
    (
        Collective.ALL_GATHER,
        (
            "    y = pl.store(part",
            "    half = pl.mul(part, 2)\n    y = pl.store(half",
        ),
        "AR410",
        "y[0:64] of rank 0 holds elements scaled by 2: no rank's input elements",
        "y = pl.store",
    ),
    (
        Collective.ALL_GATHER,
        (
            "    y = pl.store(part",
            "    mean = pl.div(part, NUM_RANKS)\n    y = pl.store(mean",
        ),
        "AR410",
        "y[0:64] of rank 0 holds elements scaled by 0.25: no rank's input elements",
        "y = pl.store",
    ),
    (
        Collective.BROADCAST,
        ("y = pl.store(part", "mean = pl.div(part, NUM_RANKS)\ny = pl.store(mean"),
        "AR410",
        "y[0:64] of rank 0 holds elements scaled by 0.25: no rank's input elements",
        "y = pl.store",
    ),
    (
        Collective.BROADCAST,
        (
            "y = pl.store(part",
            "cut = pl.cast(part, pl.FP16)\nback = pl.cast(cut, pl.INT32)\n"
            "y = pl.store(back",
        ),
        "AR410",
        "y[0:64] of rank 0 holds int32 elements rounded to fp16: no rank's input "
        "elements",
        "y = pl.store",
    ),
    (
        Collective.BROADCAST,
        ("root = my_rank - my_rank + 1", "root = my_rank // 3"),
        "AR408",
        "y[0:64] of rank 3 holds x[0:64] of rank 1 where x[0:64] of rank 0 belongs",
        "y = pl.store",
    ),
    (
        Collective.ALL_TO_ALL,
        ("pl.range(NUM_RANKS)", "pl.range(NUM_RANKS - 1)"),
        "AR405",
        "y[48:64] of rank 0 is never written",
        "",
    ),
    (
        Collective.ALL_TO_ALL,
        (
            "offsets=[0, my_rank * CHUNK]",
            "offsets=[0, (my_rank + step // 3) % NUM_RANKS * CHUNK]",
        ),
        "AR408",
        "y[48:64] of rank 0 holds x[16:32] of rank 3 where x[0:16] of rank 3 belongs",
        "y = pl.store",
    ),
]


@pytest.mark.parametrize(("collective", "edit", "code", "message", "line"), FAULTS)
def test_a_fault_is_located_to_rank_and_range(
    tmp_path: Path,
    collective: Collective,
    edit: tuple[str, str],
    code: str,
    message: str,
    line: str,
) -> None:
    text = _write(collective, 4, edit)
    checked = _check(tmp_path, text)
    assert checked.collective is collective
    errors = [one for one in checked.findings if one.is_error]
    assert (errors[0].code.id, errors[0].message) == (code, message)
    where = errors[0].location
    assert where is not None
    assert where.line == (line_of(text, line) if line else None)


@pytest.mark.parametrize("num_ranks", [2, 4])
def test_a_mean_is_scattered(tmp_path: Path, num_ranks: int) -> None:
    mean = ("y = pl.store(acc", "mean = pl.div(acc, NUM_RANKS)\ny = pl.store(mean")
    checked = _check(tmp_path, _write(Collective.REDUCE_SCATTER, num_ranks, mean))
    assert checked.collective is Collective.REDUCE_SCATTER
    assert checked.findings == ()


def test_adding_zero_changes_nothing(tmp_path: Path) -> None:
    zero = ("y = pl.store(acc", "same = pl.add(acc, 0)\ny = pl.store(same")
    checked = _check(tmp_path, _write(Collective.REDUCE_SCATTER, 4, zero))
    assert checked.findings == ()


@pytest.mark.parametrize("tensor", ["x", "y"])
@pytest.mark.parametrize("part", ["(r + 1) % NUM_RANKS", "NUM_RANKS - 1 - r"])
def test_which_rank_takes_which_part_of_the_host_tensor(
    tmp_path: Path, tensor: str, part: str
) -> None:
    """What counts is whose part it is on the host: sums do not care, copies do."""
    total = barrier() + "\n" + _REDUCE.replace("my_rank * CHUNK", "0")
    text = write_program(
        STAGE_IN, total.replace("CHUNK", "SIZE"), num_ranks=4, dtype="INT32"
    )
    handed = text.replace(f"{tensor}[r]", f"{tensor}[{part}]")
    assert handed != text
    checked = _check(tmp_path, handed)
    assert checked.collective is Collective.ALL_REDUCE
    assert checked.findings == ()
    gather = _write(Collective.ALL_GATHER, 4).replace("x[r]", f"x[{part}]")
    assert [one.code.id for one in _check(tmp_path, gather).findings] == ["AR408"]


def test_a_result_for_one_rank_only_leaves_the_others_a_warning(tmp_path: Path) -> None:
    rooted = "if my_rank == 0:\n" + textwrap.indent(_EXCHANGE, "    ")
    text = _write(Collective.ALL_TO_ALL, 4).replace(
        textwrap.indent(_EXCHANGE, " " * 8), textwrap.indent(rooted, " " * 8)
    )
    checked = _check(tmp_path, text)
    (finding,) = checked.findings
    assert checked.collective is None
    assert (finding.code.id, finding.is_error) == ("AR405", False)
    assert finding.message == "y[0:64] of rank 1 is never written"


def test_a_program_that_copies_its_own_input_is_no_collective(tmp_path: Path) -> None:
    for num_ranks in (2, 3, 4):
        text = _write(Collective.BROADCAST, num_ranks, ("peer=root", "peer=my_rank"))
        checked = _check(tmp_path, text)
        assert checked.collective is None
        assert checked.findings == ()


def test_contributions_that_double_at_each_step_are_counted(tmp_path: Path) -> None:
    """A ring that adds twice: written out, its sums have 2 ** 16 operands."""
    before = "total = pl.add(own, got)"
    twice = "half = pl.add(own, got)\n            total = pl.add(half, got)"
    text = ring(16)
    assert before in text
    checked = _check(tmp_path, text.replace(before, twice))
    (error,) = checked.findings
    assert error.code.id == "AR406"
    assert error.message == (
        "y[0:16] of rank 0 counts rank 0 32768 times, and ranks 1 to 14 more than once"
    )


def test_a_program_without_windows_is_no_collective(tmp_path: Path) -> None:
    """Whatever it makes of its own input: here rank 1 adds it to itself."""
    text = """\
import pypto.language as pl
import pypto.language.distributed as pld


@pl.program
class Scale:
    @pl.function(type=pl.FunctionType.InCore)
    def scale(
        self,
        x: pl.Tensor[[1, 64], pl.FP32],
        y: pl.Out[pl.Tensor[[1, 64], pl.FP32]],
        rank: pl.Scalar[pl.INT32],
    ):
        total = pl.load(x, [0, 0], [1, 64])
        own = pl.load(x, [0, 0], [1, 64])
        for step in pl.range(rank):
            total = pl.add(total, own)
        pl.store(total, [0, 0], y)

    @pl.function(type=pl.FunctionType.Orchestration)
    def per_rank(
        self,
        x: pl.Tensor[[1, 64], pl.FP32],
        y: pl.Out[pl.Tensor[[1, 64], pl.FP32]],
        rank: pl.Scalar[pl.INT32],
    ):
        self.scale(x, y, rank)

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[2, 1, 64], pl.FP32],
        y: pl.Out[pl.Tensor[[2, 1, 64], pl.FP32]],
    ):
        for r in pl.range(pld.world_size()):
            self.per_rank(x[r], y[r], r, device=r)
"""
    checked = _check(tmp_path, text)
    assert checked.collective is None
    assert checked.findings == ()
