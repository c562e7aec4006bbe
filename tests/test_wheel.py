"""A built wheel holds the templates, and works with nothing else of the checkout."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from .conftest import GOLDEN

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which a wheel of the project was unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
    subprocess.run(
        [*command, "--outdir", folder, ROOT], check=True, capture_output=True
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_the_wheel_emits_the_golden_kernel(unpacked: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "allreduce_gen", "--ranks", "4", "--size", "4096"],
        check=True,
        capture_output=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(unpacked)},
    )
    golden = GOLDEN / "kernels" / "two_phase_p4_n4096_fp32.py"
    assert done.stdout == golden.read_bytes()


def test_the_wheel_uses_its_own_templates(unpacked: Path, tmp_path: Path) -> None:
    code = "from allreduce_gen.emitter import find_templates; print(find_templates())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(unpacked)},
    )
    assert Path(done.stdout.strip()) == unpacked / "allreduce_gen" / "_templates"


def test_the_wheel_carries_no_tests(unpacked: Path) -> None:
    tops = {path.name for path in unpacked.iterdir()}
    assert {name for name in tops if not name.endswith(".dist-info")} == {
        "allreduce_gen"
    }
