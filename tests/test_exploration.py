"""Slots that are no rising counters: searched for few ranks, refused for many."""

from __future__ import annotations

from pathlib import Path

import pytest

from allreduce_gen.diagnostics import Diagnostic
from allreduce_gen.verdicts import check_file

from .sources import (
    MESH_WINDOWS,
    STAGE_IN,
    barrier,
    gather_and_add,
    mesh,
    notify_all,
    wait_all,
    write_program,
)


def _check(folder: Path, text: str) -> tuple[Diagnostic, ...]:
    path = folder / "kernel.py"
    path.write_text(text)
    (checked,) = check_file(path)
    return checked.findings


def _turn_based(num_ranks: int) -> str:
    """Rank 0 Sets one cell of everybody to 1, then rank 1 Sets it to 2."""
    turn = """\
    if my_rank == {rank}:
        {wait}for step in pl.range(NUM_RANKS):
            pld.system.notify(
                signal, peer=step, offsets=[0, 0], value={value}, op=pld.NotifyOp.Set
            )"""
    first = turn.format(rank=0, value=1, wait="")
    second = turn.format(
        rank=1,
        value=2,
        wait="pld.system.wait(signal, [0, 0], 1, cmp=pld.WaitCmp.Ge)\n        ",
    )
    last = "pld.system.wait(signal, [0, 0], 2, cmp=pld.WaitCmp.Ge)"
    return write_program(
        STAGE_IN,
        barrier("1"),
        gather_and_add(),
        first,
        second,
        last,
        num_ranks=num_ranks,
        windows=MESH_WINDOWS,
        dtype="INT32",
    )


def test_a_shared_set_whose_order_is_fixed_for_its_waiter(tmp_path: Path) -> None:
    """Rank 1's Set may come before rank 0's on other ranks, which then see 1 for ever.

    With two ranks only rank 0 can miss it, and rank 0 Sets its own cell first.
    """
    assert _check(tmp_path, _turn_based(2)) == ()


@pytest.mark.parametrize("num_ranks", [3, 4])
def test_a_shared_set_that_may_be_lost(tmp_path: Path, num_ranks: int) -> None:
    (lost,) = (one for one in _check(tmp_path, _turn_based(num_ranks)) if one.is_error)
    assert lost.code.id == "AR307"
    assert f"rank {num_ranks - 1} waits for slot [0, 0] >= 2" in lost.message
    assert "and sees 1, for ever: several ranks change it" in lost.message
    assert len(lost.counterexample) <= 12
    assert lost.counterexample[-1].text.endswith(">= 2 and sees 1, for ever")


def test_many_ranks_are_not_searched(tmp_path: Path) -> None:
    (refused,) = (one for one in _check(tmp_path, _turn_based(5)) if one.is_error)
    assert refused.code.id == "AR309"
    assert refused.notes[-1].text == "executions are searched for up to 4 ranks"


@pytest.mark.parametrize("num_ranks", [2, 3])
def test_a_slot_that_its_sender_lowers_again(tmp_path: Path, num_ranks: int) -> None:
    """The waiter may come too late for it; with a way back it may not."""
    raised = (notify_all(), notify_all(value="-1"), wait_all())
    (lost,) = (
        one for one in _check(tmp_path, mesh(num_ranks, *raised)) if one.is_error
    )
    assert lost.code.id == "AR307"
    assert "and sees 0, for ever" in lost.counterexample[-1].text
    handed = (barrier("ROW_A"), barrier("ROW_B"), notify_all("ROW_A", value="-1"))
    assert _check(tmp_path, mesh(num_ranks, *handed)) == ()
