"""The text of each code's finding, raised by a real input: tests/golden_diagnostics.

`pytest --update-goldens` renews the files.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from allreduce_gen import AllReduceSpec, generate
from allreduce_gen.checks import Collective
from allreduce_gen.diagnostics import CODES, Diagnostic, format_diagnostic
from allreduce_gen.engines.base import EngineName, RunOptions
from allreduce_gen.engines.simulator import simulate
from allreduce_gen.errors import AllReduceGenError
from allreduce_gen.spec import DType, ReduceOp
from allreduce_gen.verdicts import check_file, run_checked

from . import sources
from .sources import (
    LOAD_X,
    MESH_WINDOWS,
    STAGE_IN,
    all_gather,
    barrier,
    gather_and_add,
    mesh,
    notify_all,
    reduce_scatter,
    ring,
    two_phase,
    wait_all,
    write_program,
)

FOLDER = Path(__file__).parent / "golden_diagnostics"
TEMPLATES = Path(__file__).parents[1] / "templates"

NOT_HERE = {
    "AR201": "no spec that the rules accept is without a plan",
    "AR701": "depends on what is installed: tests/unit/engines/pypto/test_parts.py",
    "AR702": "needs a compiler that refuses: tests/unit/engines/pypto/test_messages.py",
    "AR803": "needs a clock: tests/unit/engines/mpi/test_faults.py",
    "AR804": "needs a process that dies: tests/unit/engines/mpi/test_faults.py",
    "AR901": "is raised by a fault of ours only: tests/unit/cli/test_faults.py",
}
"""Codes without a text here, and why."""

Raise = Callable[[], object]


def _check(text: str, *, calls: int = 1, collective: Collective | None = None) -> Raise:
    def check() -> tuple[Diagnostic, ...]:
        Path("kernel.py").write_text(text)
        (one,) = check_file(Path("kernel.py"), num_calls=calls, collective=collective)
        return one.findings

    return check


def _generate(num_ranks: int = 4, size: int = 4096, **options: object) -> Raise:
    return lambda: generate(
        AllReduceSpec(num_ranks=num_ranks, size=size, **options)  # type: ignore[arg-type]
    )


def _corrupt(file: str, before: str, after: str) -> Raise:
    def emit() -> None:
        shutil.copytree(TEMPLATES, "templates")
        path = Path("templates") / "pypto" / file
        path.write_text(path.read_text().replace(before, after))
        generate(AllReduceSpec(num_ranks=4, size=64), templates=Path("templates"))

    return emit


def _write_to_a_folder() -> None:
    Path("kernels").mkdir()
    generate(AllReduceSpec(num_ranks=2, size=64)).write(Path("kernels"))


def _simulate(text: str) -> Raise:
    def run() -> None:
        Path("kernel.py").write_text(text)
        (one,) = check_file(Path("kernel.py"))
        x = np.zeros((2, 1, 32), np.int32)
        simulate(one.trace, {"x": x}, RunOptions())

    return run


def _run(text: str) -> Raise:
    """Run an all-reduce although the checks refuse it."""

    def run() -> None:
        Path("kernel.py").write_text(text)
        (one,) = check_file(Path("kernel.py"), collective=Collective.ALL_REDUCE)
        run_checked(one, EngineName.SIMULATOR, RunOptions())

    return run


def _sum_of(*lines: str, **options: object) -> str:
    """A mesh whose last phase is `lines`."""
    return write_program(
        STAGE_IN,
        barrier(),
        *lines,
        num_ranks=3,
        windows=MESH_WINDOWS,
        **options,  # type: ignore[arg-type]
    )


_FROM_OWN = gather_and_add()
_ADDS_TO_0 = """\
pld.tile.remote_store(
    staged, target=data, peer=pl.const(0, pl.INT32), offsets=[0, 0],
    atomic=pl.AtomicType.Add,
)"""
_IN_A_PIPELINE = """\
for i in pl.pipeline(2, stage=2):
    peer = (my_rank + 1) % NUM_RANKS
    pld.system.notify(
        signal, peer=peer, offsets=[i, my_rank], value=1, op=pld.NotifyOp.AtomicAdd
    )"""
_REORDERED = """\
for i in pl.pipeline(2, stage=2):
    tile = pl.load(x, [0, i * 16], [1, 16])
    pl.store(tile, [0, i * 16], data)
    again = pl.load(data, [0, i * 16], [1, 16])
    y = pl.store(again, [0, i * 16], y)"""
_TOO_LARGE = write_program(
    STAGE_IN, num_ranks=2, chunk=32768, windows={"data": "[1, SIZE]"}
)
_MISALIGNED = write_program(
    "part = pl.load(x, [0, 0], [1, 12])", "y = pl.store(part, [0, 0], y)", num_ranks=2
)
_SMALL_SIGNAL = write_program(STAGE_IN, barrier("2"), num_ranks=2)
_TWO_TYPES = write_program(
    LOAD_X, "signal = pl.store(staged, [0, 0], signal)", num_ranks=2
)

CASES: dict[str, Raise] = {
    "AR101": _generate(0),
    "AR102": _generate(size=0),
    "AR103": _generate(3, strict_divisible=True),
    "AR104": _generate(dtype=DType.INT64),
    "AR105": _generate(dtype=DType.INT32, op=ReduceOp.AVG),
    "AR106": _generate(65),
    "AR107": _generate(tile=0),
    "AR301": _check(mesh(4, notify_all(), wait_all(expected="2"))),
    "AR302": _check(mesh(2, barrier(), notify_all("ROW_B"))),
    "AR303": _check(two_phase(4, rows="ROW_A ROW_A")),
    "AR304": _check(mesh(3, wait_all(), notify_all())),
    "AR305": _check(mesh(4, notify_all(), wait_all(steps="1, NUM_RANKS - 1"))),
    "AR306": _check(
        mesh(3, notify_all(column="0"), wait_all(column="0", cmp="Eq", steps="1"))
    ),
    "AR307": _check(mesh(3, notify_all(), notify_all(value="-1"), wait_all())),
    "AR308": _check(mesh(2, _IN_A_PIPELINE, wait_all())),
    "AR309": _check(mesh(5, notify_all(), notify_all(value="-1"), wait_all())),
    "AR310": _check(mesh(4, notify_all(op="Set"), wait_all())),
    "AR311": _check(
        mesh(
            2,
            *(notify_all(op="Set"), wait_all()),
            *(notify_all(op="Set", value="2"), wait_all(expected="2")),
        )
    ),
    "AR312": _check(mesh(2, _REORDERED)),
    "AR401": _check(mesh(4)),
    "AR402": _check(mesh(3, barrier("ROW_A", "epoch"), epoch=True), calls=2),
    "AR403": _check(_sum_of(_ADDS_TO_0.replace("Add", "None_"))),
    "AR404": _check(
        ring(4).replace(
            "left = (my_rank + NUM_RANKS - 1) % NUM_RANKS", "left = my_rank + 3"
        )
    ),
    "AR405": _check(_sum_of(_FROM_OWN.replace("1, NUM_RANKS", "2, NUM_RANKS"))),
    "AR406": _check(_sum_of(_FROM_OWN.replace("1, NUM_RANKS", "NUM_RANKS"))),
    "AR407": _check(two_phase(4).replace(sources.STORE_X, "pass")),
    "AR408": _check(
        write_program(
            STAGE_IN,
            barrier(),
            reduce_scatter(),
            barrier("ROW_B"),
            all_gather(to="(owner + 1) % NUM_RANKS * CHUNK"),
            num_ranks=4,
        )
    ),
    "AR409": _check(_sum_of(_FROM_OWN)),
    "AR410": _check(_sum_of(_FROM_OWN.replace("y = ", "acc = pl.add(acc, 1.0)\ny = "))),
    "AR411": _check(_sum_of(_ADDS_TO_0, dtype="FP32")),
    "AR501": _check(_TOO_LARGE),
    "AR502": _check(_MISALIGNED),
    "AR503": _check(
        write_program(
            STAGE_IN,
            barrier(),
            _FROM_OWN,
            num_ranks=2,
            signal_buffer="4",
            dtype="INT32",
        )
    ),
    "AR504": _check(_SMALL_SIGNAL),
    "AR505": _check(_TWO_TYPES),
    "AR506": _check(
        write_program(LOAD_X, num_ranks=2).replace(
            "self.kernel(", "with pl.spmd(64):\n            self.kernel("
        )
    ),
    "AR601": _corrupt("two_phase.py.jinja", "view.words.noun", "view.words.nuon"),
    "AR602": _corrupt("_kernel.py.jinja", "import argparse\n", "import\n"),
    "AR603": _corrupt("_steps.jinja", "value={{ step.value }}", "value=2"),
    "AR604": _write_to_a_folder,
    "AR703": _check(mesh(2, barrier(), "my_rank += 1")),
    "AR704": lambda: check_file(Path("kernel.py")),
    "AR705": _check("import pypto.language as pl\n"),
    "AR706": _check(ring(4, chunk="(my_rank + NUM_RANKS - step) % NUM_RANKS")),
    "AR707": _check(
        write_program(
            "staged = pl.load(x, [0, OFFSETS[1]], [1, CHUNK])",
            num_ranks=2,
            constants="OFFSETS = [0, 16, 32]",
        )
    ),
    "AR801": _simulate(mesh(2, wait_all(), notify_all())),
    "AR802": _run(two_phase(2).replace("acc = pl.add(acc, contribution)", "pass")),
}


@pytest.mark.parametrize("id", CASES)
def test_the_text_is_the_golden(
    id: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.chdir(tmp_path)
    found = _findings(CASES[id])
    one = next((each for each in found if each.code.id == id), None)
    assert one is not None, [each.code.id for each in found]
    text, path = format_diagnostic(one) + "\n", FOLDER / f"{id}.txt"
    if request.config.getoption("--update-goldens"):
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def _findings(case: Raise) -> tuple[Diagnostic, ...]:
    try:
        found = case()
    except AllReduceGenError as error:
        return error.diagnostics
    assert isinstance(found, tuple)
    return found


def test_every_code_has_a_text_or_a_reason() -> None:
    assert CASES.keys() | NOT_HERE.keys() == CODES.keys()
    assert not CASES.keys() & NOT_HERE.keys()
    assert {path.stem for path in FOLDER.iterdir()} == CASES.keys()
