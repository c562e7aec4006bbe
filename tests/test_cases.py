"""Cases that people hit in public, by id, as source files: faulty and accepted form.

Every form is a whole program, judged as `allreduce-gen check` judges a file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from allreduce_gen.diagnostics import Diagnostic
from allreduce_gen.errors import CompileError
from allreduce_gen.verdicts import check_file

from .sources import (
    LOAD_X,
    MESH_WINDOWS,
    STAGE_IN,
    STAGE_OUT,
    STORE_X,
    all_gather,
    barrier,
    credit_back,
    gather_and_add,
    line_of,
    mesh,
    notify_all,
    push,
    reduce_scatter,
    ring,
    two_phase,
    wait_all,
    write_program,
)

Findings = tuple[Diagnostic, ...]
Check = Callable[..., Findings]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """All findings about a program's text, in a file called kernel.py."""
    monkeypatch.chdir(tmp_path)

    def check_text(text: str, calls: int = 1) -> Findings:
        Path("kernel.py").write_text(text)
        (checked,) = check_file(Path("kernel.py"), num_calls=calls)
        return checked.findings

    return check_text


@pytest.fixture
def refuse(check: Check) -> Callable[[str], Diagnostic]:
    """The one diagnostic with which a program's text is refused."""

    def refuse_text(text: str) -> Diagnostic:
        with pytest.raises(CompileError) as caught:
            check(text)
        (diagnostic,) = caught.value.diagnostics
        return diagnostic

    return refuse_text


def kinds(findings: Findings) -> list[str]:
    """The codes of findings, sorted; warnings in brackets."""
    return sorted(
        one.code.id if one.is_error else f"({one.code.id})" for one in findings
    )


def place(one: Diagnostic) -> tuple[int | None, int | None]:
    """Line and rank."""
    assert one.location is not None
    assert one.location.file == "kernel.py"
    return one.location.line, one.location.rank


def only(findings: Findings, code: str) -> Diagnostic:
    (one,) = (each for each in findings if each.code.id == code)
    return one


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_k01_one_signal_row_for_both_barriers(check: Check, num_ranks: int) -> None:
    text = two_phase(num_ranks, rows="ROW_A ROW_A")
    findings = check(text)
    assert kinds(findings) == ["AR303", "AR401"]
    reuse, race = findings
    second_wait = line_of(text, "pld.system.wait(", 1)
    assert place(reuse) == (second_wait, 0)
    assert place(race) == (line_of(text, "pld.tile.remote_load(", 1), 0)
    assert race.message == (
        "rank 0 may read result[0, 16:32] of rank 1 before it is stored"
    )
    other = race.notes[0].location
    assert other is not None
    assert (other.line, other.rank) == (line_of(text, "result = pl.store("), 1)
    assert check(two_phase(num_ranks)) == ()


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_k02_one_row_with_rising_thresholds(check: Check, num_ranks: int) -> None:
    text = write_program(
        STAGE_IN,
        barrier("ROW_A", "1"),
        reduce_scatter(),
        barrier("ROW_A", "2"),
        all_gather(),
        num_ranks=num_ranks,
    )
    assert check(text) == ()


@pytest.mark.parametrize("num_ranks", [2, 4])
def test_k03_barrier_missing(check: Check, num_ranks: int) -> None:
    text = mesh(num_ranks)
    (race,) = check(text)
    assert kinds((race,)) == ["AR401"]
    assert place(race) == (line_of(text, "pld.tile.remote_load("), 0)
    assert race.message == (
        f"rank 0 may read data[0, 0:{16 * num_ranks}] of rank 1 before it is stored"
    )
    assert check(mesh(num_ranks, barrier())) == ()


def test_k03_one_peer_skipped_in_the_wait_loop(check: Check) -> None:
    text = mesh(4, notify_all(), wait_all(steps="1, NUM_RANKS - 1"))
    missed, race = check(text)
    assert kinds((missed, race)) == ["AR305", "AR401"]
    assert missed.message == "rank 0 waits for every peer but rank 3"
    assert place(missed) == (line_of(text, "pld.system.wait("), 0)
    assert "of rank 3 before it is stored" in race.message


def test_k04_notify_before_the_store(check: Check) -> None:
    text = write_program(
        LOAD_X,
        notify_all(),
        STORE_X,
        wait_all(),
        gather_and_add(),
        num_ranks=2,
        windows=MESH_WINDOWS,
        dtype="INT32",
    )
    (race,) = check(text)
    assert kinds((race,)) == ["AR401"]
    assert race.notes[0].location is not None
    assert race.notes[0].location.line == line_of(text, "data = pl.store(")


@pytest.mark.parametrize("num_ranks", [2, 4])
def test_k04_remote_store_then_notify(check: Check, num_ranks: int) -> None:
    assert check(push(num_ranks)) == ()


def test_k05_a_second_call_on_signals_left_at_1(check: Check) -> None:
    findings = check(two_phase(4), calls=2)
    assert {"AR303", "AR401"} <= set(kinds(findings))
    assert all(one.message.startswith("in call 2, ") for one in findings)


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
@pytest.mark.parametrize("calls", [2, 3])
def test_k05_expecting_the_call_number(
    check: Check, num_ranks: int, calls: int
) -> None:
    assert check(two_phase(num_ranks, epoch=True), calls=calls) == ()


def _self_clearing(value: str) -> str:
    return write_program(
        STAGE_IN,
        barrier("ROW_A"),
        reduce_scatter(),
        barrier("ROW_B"),
        all_gather(),
        credit_back("ROW_A", value),
        credit_back("ROW_B", value),
        num_ranks=4,
    )


def test_k05_slots_cleared_by_their_own_rank(check: Check) -> None:
    assert check(_self_clearing("-1"), calls=3) == ()
    text = _self_clearing("-NUM_RANKS")
    findings = check(text, calls=2)
    assert kinds(findings) == ["AR301", "AR301"]
    assert findings[0].message == (
        "in call 2, rank 0 waits for slot [0, 1] >= 1 and sees -2; all notifies "
        "together bring it to -2"
    )
    assert place(findings[0]) == (line_of(text, "pld.system.wait("), 0)


def _mesh_call(num_ranks: int, *, last: str = "") -> str:
    return mesh(num_ranks, barrier("ROW_A", "epoch"), last=last, epoch=True)


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_k06_one_barrier_a_call_and_one_data_slot(check: Check, num_ranks: int) -> None:
    text = _mesh_call(num_ranks)
    (race,) = check(text, calls=3)
    assert kinds((race,)) == ["AR402"]
    assert place(race) == (line_of(text, "data = pl.store("), 0)
    assert race.message == (
        f"in call 2, rank 0 may overwrite data[0, 0:{16 * num_ranks}] of rank 0 "
        "before rank 1 reads it"
    )
    second = barrier("ROW_B", "epoch")
    assert check(_mesh_call(num_ranks, last=second), calls=3) == ()


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_k06_two_rotating_slots(check: Check, num_ranks: int) -> None:
    text = write_program(
        LOAD_X,
        "slot = epoch % 2",
        "data = pl.store(staged, [slot, 0], data)",
        barrier("ROW_A", "epoch"),
        gather_and_add(row="slot"),
        num_ranks=num_ranks,
        windows={"data": "[2, SIZE]"},
        dtype="INT32",
        epoch=True,
    )
    assert check(text, calls=3) == ()


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_k07_sum_written_back_with_no_barrier(check: Check, num_ranks: int) -> None:
    def text(*between: str) -> str:
        return write_program(
            STAGE_IN,
            barrier(),
            gather_and_add().replace("y = pl.store(acc, [0, 0], y)", "pass"),
            *between,
            "data = pl.store(acc, [0, 0], data)",
            STAGE_OUT,
            num_ranks=num_ranks,
            windows=MESH_WINDOWS,
            dtype="INT32",
        )

    (race,) = check(text())
    assert kinds((race,)) == ["AR402"]
    assert place(race) == (line_of(text(), "data = pl.store(acc"), 0)
    assert check(text(barrier("ROW_B"))) == ()


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_k07_two_phase_in_place(check: Check, num_ranks: int) -> None:
    def text(expected: str, epoch: bool) -> str:
        return write_program(
            STAGE_IN,
            barrier("ROW_A", expected),
            reduce_scatter("data"),
            barrier("ROW_B", expected),
            all_gather("data"),
            num_ranks=num_ranks,
            windows=MESH_WINDOWS,
            epoch=epoch,
        )

    assert check(text("1", False)) == ()
    findings = check(text("epoch", True), calls=3)
    assert kinds(findings) == ["AR402"]
    again = line_of(text("epoch", True), "data = pl.store(staged")
    assert place(findings[0])[0] == again


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_k08_ring_with_one_row_for_all_rounds(check: Check, num_ranks: int) -> None:
    text = ring(num_ranks, rows=("0", "0"))
    findings = check(text)
    assert {"AR303", "AR401"} <= set(kinds(findings)) <= {"AR303", "AR401", "AR402"}
    lines = {
        line_of(text, "got = pld.tile.remote_load("),
        line_of(text, "final = pld.tile.remote_load("),
        line_of(text, "data = pl.store(total"),
        line_of(text, "data = pl.store(final"),
    }
    assert {place(one)[0] for one in findings if one.code.id != "AR303"} <= lines


@pytest.mark.parametrize("num_ranks", [2, 3, 4, 8])
def test_k09_ring_with_neighbour_handshakes(check: Check, num_ranks: int) -> None:
    assert check(ring(num_ranks)) == ()


@pytest.mark.parametrize("num_ranks", [2, 4])
def test_k10_ring_called_again(check: Check, num_ranks: int) -> None:
    again = check(ring(num_ranks, expected="epoch", epoch=True), calls=3)
    assert "AR402" in kinds(again)
    assert {"AR303", "AR401"} <= set(kinds(check(ring(num_ranks), calls=3)))
    closed = ring(
        num_ranks,
        barrier("0", "epoch"),
        expected="epoch",
        epoch=True,
    )
    assert check(closed, calls=3) == ()


def _one_cell(num_ranks: int, op: str) -> str:
    return write_program(
        STAGE_IN,
        notify_all("0", column="0", op=op),
        """\
        pld.system.wait(
            signal, offsets=[0, 0], expected=NUM_RANKS - 1, cmp=pld.WaitCmp.Ge
        )""",
        gather_and_add(),
        num_ranks=num_ranks,
        windows=MESH_WINDOWS,
        dtype="INT32",
        signal="[1, 1]",
    )


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_k11_set_into_one_cell(check: Check, num_ranks: int) -> None:
    assert check(_one_cell(num_ranks, "AtomicAdd")) == ()
    text = _one_cell(num_ranks, "Set")
    findings = check(text)
    if num_ranks == 2:
        assert findings == ()
        return
    assert kinds(findings) == ["AR301", "AR307"]
    blocked = findings[0]
    assert blocked.message == (
        f"rank 0 waits for slot [0, 0] >= {num_ranks - 1} and sees 1; all notifies "
        "together bring it to 1"
    )
    assert place(blocked) == (line_of(text, "pld.system.wait("), 0)


def test_k12_set_with_one_writer_per_slot(check: Check) -> None:
    text = write_program(
        STAGE_IN,
        notify_all("my_rank", column="0", op="Set"),
        wait_all("peer", column="0"),
        gather_and_add(),
        num_ranks=4,
        windows=MESH_WINDOWS,
        dtype="INT32",
        signal="[NUM_RANKS, 1]",
    )
    assert kinds(check(text)) == ["(AR310)"]


@pytest.mark.parametrize("num_ranks", [2, 4])
@pytest.mark.parametrize(
    ("phases", "code", "seen"),
    [
        ((notify_all(), wait_all(column="my_rank")), "AR301", "[0, 0] >= 1 and sees 0"),
        ((wait_all(), notify_all()), "AR304", "[0, 1] >= 1 and sees 0"),
        (
            (notify_all(op="Set", value="0"), wait_all()),
            "AR301",
            "[0, 1] >= 1 and sees 0",
        ),
        ((notify_all(), wait_all(expected="2")), "AR301", "[0, 1] >= 2 and sees 1"),
    ],
    ids=["own slot", "wait first", "set 0", "expects 2"],
)
def test_k13_waits_that_nobody_satisfies(
    check: Check, num_ranks: int, phases: tuple[str, ...], code: str, seen: str
) -> None:
    text = mesh(num_ranks, *phases)
    (error,) = (one for one in check(text) if one.is_error)
    assert error.code.id == code
    assert f"rank 0 waits for slot {seen}" in error.message
    assert place(error) == (line_of(text, "pld.system.wait("), 0)
    blocked = [note.location for note in error.notes if note.label == "blocked"]
    assert [one and one.rank for one in blocked] == list(range(1, num_ranks))


def test_k14_a_second_set_on_one_slot(check: Check) -> None:
    text = mesh(
        2,
        notify_all(op="Set"),
        wait_all(),
        notify_all(op="Set", value="2"),
        wait_all(expected="2"),
    )
    (warning,) = check(text)
    assert kinds((warning,)) == ["(AR311)"]
    assert warning.message == "rank 0 Sets slot [0, 0] of rank 1 again"
    assert place(warning) == (line_of(text, "pld.system.notify(", 1), 0)


def test_k21_window_sized_in_elements(check: Check) -> None:
    def text(signal_buffer: str) -> str:
        return write_program(
            STAGE_IN,
            notify_all("my_rank", column="0"),
            wait_all("peer", column="0"),
            gather_and_add(),
            num_ranks=4,
            windows=MESH_WINDOWS,
            dtype="INT32",
            signal="[4, 1]",
            signal_buffer=signal_buffer,
        )

    (small,) = check(text("4"))
    assert kinds((small,)) == ["AR503"]
    assert small.message == ("signal needs 16 bytes, and its buffer signal has 4")
    assert check(text("16")) == ()


def _reading(offsets: str, peer: str = "peer") -> str:
    """Two-phase for P=4, SIZE 64 that reads `offsets` of `peer` to reduce."""
    return write_program(
        STAGE_IN,
        barrier(),
        f"""\
        acc = pl.load(data, [0, my_rank * CHUNK], [1, CHUNK])
        for step in pl.range(1, NUM_RANKS):
            peer = (my_rank + step) % NUM_RANKS
            contribution = pld.tile.remote_load(
                data, peer={peer}, offsets={offsets}, shape=[1, CHUNK]
            )
            acc = pl.add(acc, contribution)
        result = pl.store(acc, [0, my_rank * CHUNK], result)""",
        barrier("ROW_B"),
        all_gather(),
        num_ranks=4,
    )


def test_k22_offset_shifted_by_one(check: Check) -> None:
    text = _reading("[0, my_rank * 16 + 1]")
    bounds, wrong = check(text)
    assert kinds((bounds, wrong)) == ["AR404", "AR408"]
    line = line_of(text, "pld.tile.remote_load(")
    assert place(bounds) == (line, 3)
    assert bounds.message == (
        "remote_load of rank 3 touches data[0, 49:65], outside data of shape [1, 64]"
    )
    assert wrong.message == (
        "y[0:16] of rank 0 holds x[1:17] of rank 1 where x[0:16] of rank 1 belongs"
    )
    assert check(_reading("[0, my_rank * 16]")) == ()


@pytest.mark.parametrize(
    ("offsets", "peer", "rank", "message"),
    [
        ("[0, 64]", "peer", 0, "touches data[0, 64:80], outside data of shape [1, 64]"),
        ("[0, 0]", "my_rank + 1", 3, "names peer 4; there are ranks 0 to 3"),
        ("[0, 0]", "my_rank - 1", 0, "names peer -1; there are ranks 0 to 3"),
    ],
)
def test_k22_out_of_range(
    check: Check, offsets: str, peer: str, rank: int, message: str
) -> None:
    text = _reading(offsets, peer)
    error = only(check(text), "AR404")
    assert error.message == f"remote_load of rank {rank} {message}"
    assert place(error) == (line_of(text, "pld.tile.remote_load("), rank)


def test_k22_malformed_offsets(refuse: Callable[[str], Diagnostic]) -> None:
    text = _reading("[[0], [0]]")
    error = refuse(text)
    assert error.code.id == "AR703"
    assert place(error)[0] == line_of(text, "pld.tile.remote_load(")


@pytest.mark.parametrize("num_ranks", [2, 4])
def test_k23_a_negative_remainder(check: Check, num_ranks: int) -> None:
    def text(left: str) -> str:
        return ring(num_ranks).replace(
            "left = (my_rank + NUM_RANKS - 1) % NUM_RANKS", f"left = {left}"
        )

    faulty = text("(my_rank - 1) % pld.nranks(ctx)")
    peers = [one for one in check(faulty) if "names peer -1" in one.message]
    assert peers
    assert {place(one) for one in peers} <= {
        (line_of(faulty, "got = pld.tile.remote_load("), 0),
        (line_of(faulty, "final = pld.tile.remote_load("), 0),
    }
    constant = check(text("(my_rank - 1) % NUM_RANKS"))
    assert place(only(constant, "AR706"))[0] == line_of(faulty, "left =")
    assert check(text("(my_rank + NUM_RANKS - 1) % NUM_RANKS")) == ()


@pytest.mark.parametrize("num_ranks", [2, 3])
def test_k29_credits_handed_back(check: Check, num_ranks: int) -> None:
    rounds = [phase for _ in range(3) for phase in (barrier(), credit_back("ROW_A"))]
    assert check(mesh(num_ranks, *rounds)) == ()
    lowered_by_peers = notify_all(value="-1")
    findings = check(mesh(num_ranks, notify_all(), lowered_by_peers, wait_all()))
    assert any(one.is_error for one in findings)


_PIPELINED = """\
peer = (my_rank + 1) % NUM_RANKS
for i in {loop}:
    part = pl.load(x, [0, i * 8], [1, 8])
    data = pl.store(part, [0, i * 8], data)
    pld.system.notify(
        signal, peer=peer, offsets=[i, my_rank], value=1, op=pld.NotifyOp.AtomicAdd
    )
    pld.system.wait(signal, offsets=[i, peer], expected=1, cmp=pld.WaitCmp.Ge)
"""


def _in_a_pipeline(body: str, *phases: str) -> str:
    return write_program(
        body,
        *phases,
        gather_and_add(),
        num_ranks=2,
        windows=MESH_WINDOWS,
        dtype="INT32",
        rows="4",
    )


def test_k30_signals_in_a_pipeline(check: Check) -> None:
    text = _in_a_pipeline(_PIPELINED.format(loop="pl.pipeline(4, stage=2)"))
    findings = [one for one in check(text) if one.code.id == "AR308"]
    assert [place(one)[0] for one in findings] == [
        line_of(text, "pld.system.notify("),
        line_of(text, "pld.system.wait("),
    ]
    assert check(_in_a_pipeline(_PIPELINED.format(loop="pl.range(4)"))) == ()
    data_only, _, _ = _PIPELINED.partition("    pld.system.notify(")
    outside = data_only.format(loop="pl.pipeline(4, stage=2)")
    assert check(_in_a_pipeline(outside, barrier())) == ()


def _two_phase_notifying(num_ranks: int, notifies: str) -> str:
    return write_program(
        STAGE_IN,
        notifies,
        wait_all(),
        reduce_scatter(),
        barrier("ROW_B"),
        all_gather(),
        num_ranks=num_ranks,
    )


@pytest.mark.parametrize("num_ranks", [3, 4])
def test_k32_a_notify_removed(check: Check, num_ranks: int) -> None:
    text = _two_phase_notifying(
        num_ranks,
        """\
        for step in pl.range(1, NUM_RANKS):
            peer = (my_rank + step) % NUM_RANKS
            if my_rank * NUM_RANKS + peer != NUM_RANKS:
                pld.system.notify(
                    signal, peer=peer, offsets=[ROW_A, my_rank], value=1,
                    op=pld.NotifyOp.AtomicAdd,
                )""",
    )
    (missed,) = check(text)
    assert kinds((missed,)) == ["AR305"]
    assert missed.message == (
        "rank 1 notifies every peer but rank 0, which waits for it for ever"
    )
    assert place(missed) == (line_of(text, "pld.system.notify("), 1)


@pytest.mark.parametrize("num_ranks", [3, 4])
def test_k32_one_peer_notified_twice_and_another_never(
    check: Check, num_ranks: int
) -> None:
    text = _two_phase_notifying(
        num_ranks,
        """\
        for step in pl.range(1, NUM_RANKS):
            peer = (my_rank + step) % NUM_RANKS
            if my_rank * NUM_RANKS + peer == NUM_RANKS:
                peer = (my_rank + 1) % NUM_RANKS
            pld.system.notify(
                signal, peer=peer, offsets=[ROW_A, my_rank], value=1,
                op=pld.NotifyOp.AtomicAdd,
            )""",
    )
    missed = only(check(text), "AR305")
    assert missed.message == (
        "rank 1 notifies every peer but rank 0, which waits for it for ever"
    )
    assert place(missed) == (line_of(text, "pld.system.notify("), 1)


def test_k33_an_index_that_counts_down(check: Check) -> None:
    faulty = ring(4, chunk="(my_rank + NUM_RANKS - step) % NUM_RANKS")
    (error,) = check(faulty)
    assert error.code.id == "AR706"
    assert place(error)[0] == line_of(faulty, "at = (")
    assert error.help.startswith("count up: add `(NUM_RANKS - 1) * step`")


@pytest.mark.parametrize(
    "right",
    [
        "(my_rank + (NUM_RANKS - 1) * step) % NUM_RANKS",
        "(my_rank + pld.nranks(ctx) - step) % pld.nranks(ctx)",
    ],
)
def test_k33_indices_that_come_out_right(check: Check, right: str) -> None:
    assert check(ring(4, chunk=right)) == ()


def test_k34_an_item_of_a_closure_list(check: Check) -> None:
    def text(at: str) -> str:
        return write_program(
            STAGE_IN,
            barrier(),
            reduce_scatter(),
            barrier("ROW_B"),
            all_gather(),
            num_ranks=4,
            constants="OFFSETS = [0, 16, 32]\nSECOND = OFFSETS[1]",
        ).replace(
            "acc = pl.load(data, [0, my_rank * CHUNK]",
            f"probe = pl.load(x, [0, {at}], [1, CHUNK])\n"
            "        acc = pl.load(data, [0, my_rank * CHUNK]",
        )

    faulty = text("OFFSETS[1]")
    error = only(check(faulty), "AR707")
    assert place(error)[0] == line_of(faulty, "probe =")
    assert check(text("SECOND")) == ()


def test_every_program_of_the_module_is_sound(check: Check) -> None:
    for num_ranks in (2, 3, 4):
        for build in (two_phase, push, ring):
            assert check(build(num_ranks)) == ()
        assert check(mesh(num_ranks, barrier())) == ()
