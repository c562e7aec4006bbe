"""Goldens: the exact output of the command line, and what it must be good for.

Every golden kernel is what is emitted now, is left alone by the formatter, is found
sound, and runs right in random and hostile orders.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from allreduce_gen.cli import run_cli
from allreduce_gen.engines.base import RunOptions, Schedule
from allreduce_gen.verdicts import check_file, run_file

from .conftest import GOLDEN

CASES = {
    "two_phase_p2_n64_fp32": "--ranks 2 --size 64",
    "two_phase_p4_n64_fp32": "--ranks 4 --size 64",
    "two_phase_p4_n4096_fp32": "--ranks 4 --size 4096",
    "two_phase_p8_n1024_fp32": "--ranks 8 --size 1024",
    "two_phase_p3_n4104_fp32": "--ranks 3 --size 4104",
    "two_phase_p1_n4096_fp32": "--ranks 1 --size 4096",
    "two_phase_p4_n80000_fp32": "--ranks 4 --size 80000",
    "two_phase_p16_n1048576_fp32": "--ranks 16 --size 1M",
    "two_phase_p4_n18_fp32": "--ranks 4 --size 18",
    "two_phase_p4_n1_fp16": "--ranks 4 --size 1 --dtype fp16",
    "two_phase_p7_n1000003_bf16": "--ranks 7 --size 1000003 --dtype bf16",
    "two_phase_p4_n4096_bf16_max": "--ranks 4 --size 4096 --dtype bf16 --op max",
    "two_phase_p3_n3072_fp32_avg": "--ranks 3 --size 3072 --op avg",
    "two_phase_p4_n4096_int16_prod": "--ranks 4 --size 4096 --dtype int16 --op prod",
    "two_phase_p4_n4096_fp16_native": (
        "--ranks 4 --size 4096 --dtype fp16 --accumulate native"
    ),
    "two_phase_p4_n4096_int8_a5": (
        "--ranks 4 --size 4096 --dtype int8 --op min --platform a5"
    ),
    "two_phase_p4_n4096_fp32_epoch": "--ranks 4 --size 4096 --reuse epoch",
    "two_phase_p4_n4096_fp32_self_clearing_in_place": (
        "--ranks 4 --size 4096 --reuse self-clearing --in-place"
    ),
    "two_phase_p4_16x256_fp32": "--ranks 4 --shape 16x256",
    "two_phase_p4_n4096_fp32_jit": "--ranks 4 --size 4096 --form jit",
    "two_phase_p4_n4096_fp32_tile256_in_place": (
        "--ranks 4 --size 4096 --tile 256 --in-place"
    ),
    "two_phase_p4_n4098_fp32_push": "--ranks 4 --size 4098 --transfer push",
    "two_phase_p4_n4096_fp32_ascending": "--ranks 4 --size 4096 --order ascending",
    "two_phase_p17_n4096_fp32_self_clearing_auto": (
        "--ranks 17 --size 4096 --reuse self-clearing --barrier auto"
    ),
    "mesh_p4_n4096_fp32": "--ranks 4 --size 4096 --algorithm mesh",
    "mesh_p5_n65537_bf16_epoch": (
        "--ranks 5 --size 65537 --algorithm mesh --dtype bf16 --reuse epoch"
    ),
    "mesh_p3_n100_fp32_push": ("--ranks 3 --size 100 --algorithm mesh --transfer push"),
    "ring_p4_n4096_fp32": "--ranks 4 --size 4096 --algorithm ring",
    "ring_p5_n1000003_fp32_self_clearing": (
        "--ranks 5 --size 1000003 --algorithm ring --reuse self-clearing"
    ),
    "bidirectional_ring_p4_n4096_fp32": (
        "--ranks 4 --size 4096 --algorithm bidirectional-ring"
    ),
    "bidirectional_ring_p3_n100_fp32_epoch": (
        "--ranks 3 --size 100 --algorithm bidirectional-ring --reuse epoch"
    ),
    "recursive_doubling_p8_n1024_fp32": (
        "--ranks 8 --size 1024 --algorithm recursive-doubling"
    ),
    "recursive_doubling_p7_n1000_fp16_avg": (
        "--ranks 7 --size 1000 --algorithm recursive-doubling --dtype fp16 --op avg"
    ),
    "halving_doubling_p8_n4096_fp32": (
        "--ranks 8 --size 4096 --algorithm halving-doubling"
    ),
    "halving_doubling_p5_n1000003_fp32_self_clearing": (
        "--ranks 5 --size 1000003 --algorithm halving-doubling --reuse self-clearing"
    ),
    "tree_p8_n1024_fp32": "--ranks 8 --size 1024 --algorithm tree",
    "tree_p6_n1000_int32_max": (
        "--ranks 6 --size 1000 --algorithm tree --dtype int32 --op max"
    ),
    "double_tree_p8_n4096_fp32": "--ranks 8 --size 4096 --algorithm double-tree",
    "double_tree_p5_n1000_fp32": "--ranks 5 --size 1000 --algorithm double-tree",
    "hierarchical_p8_n4096_fp32": "--ranks 8 --size 4096 --algorithm hierarchical",
    "hierarchical_p7_n1000_fp32_self_clearing_dissemination": (
        "--ranks 7 --size 1000 --algorithm hierarchical --reuse self-clearing "
        "--barrier dissemination"
    ),
    "hierarchical_p12_n4096_fp32_6x2": (
        "--ranks 12 --size 4096 --algorithm hierarchical --groups 6x2"
    ),
    "dissemination_p4_n4096_fp32": ("--ranks 4 --size 4096 --algorithm dissemination"),
    "dissemination_p5_n18_bf16": (
        "--ranks 5 --size 18 --algorithm dissemination --dtype bf16"
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_kernel_is_the_golden(name, golden, capsys) -> None:
    assert run_cli(shlex.split(CASES[name])) == 0
    golden(f"kernels/{name}.py", capsys.readouterr().out)


@pytest.mark.parametrize("name", CASES)
def test_plan_is_the_golden(name, golden, capsys) -> None:
    assert run_cli(["plan", *shlex.split(CASES[name])]) == 0
    golden(f"plans/{name}.txt", capsys.readouterr().out)


def test_every_golden_is_used() -> None:
    seen = {path.relative_to(GOLDEN).as_posix() for path in GOLDEN.rglob("*.*")}
    kernels = {f"kernels/{name}.py" for name in CASES}
    assert seen == kernels | {f"plans/{name}.txt" for name in CASES}


def test_the_formatter_leaves_goldens_alone() -> None:
    for command in (["format", "--check"], ["check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--isolated", GOLDEN / "kernels"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", CASES)
def test_golden_is_found_sound(name: str) -> None:
    path = GOLDEN / "kernels" / f"{name}.py"
    (checked,) = check_file(path, platform=_platform(path))
    assert checked.findings == ()


@pytest.mark.parametrize("schedule", Schedule)
@pytest.mark.parametrize("name", CASES)
def test_golden_runs_right(name: str, schedule: Schedule) -> None:
    path = GOLDEN / "kernels" / f"{name}.py"
    for seed in range(2):
        (report,) = run_file(
            path, RunOptions(seed=seed, schedule=schedule), platform=_platform(path)
        )
        assert f"_p{report.num_ranks}_" in name


def _platform(path: Path) -> str:
    return "a5" if path.stem.endswith("_a5") else "a2a3sim"


@pytest.mark.parametrize("seed", ["0", "1", "2"])
def test_same_bytes_under_any_hash_seed(seed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "allreduce_gen", "--ranks", "4", "--size", "4096"],
        capture_output=True,
        check=True,
        env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(GOLDEN.parents[1])},
    )
    golden = GOLDEN / "kernels" / "two_phase_p4_n4096_fp32.py"
    assert done.stdout == golden.read_bytes()
