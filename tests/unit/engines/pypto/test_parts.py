"""Every part of pypto that is missing has a name, and the first is named first."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from allreduce_gen.engines.base import RunOptions, SourceProgram
from allreduce_gen.engines.pypto import (
    engine,
    find_parts,
    missing_part,
    parts,
    run_pypto,
)
from allreduce_gen.engines.pypto.parts import TRIED_COMMIT, PyptoParts, next_step
from allreduce_gen.errors import EngineUnavailableError

WHOLE = PyptoParts(
    has_pypto=True,
    is_canns=False,
    commit=TRIED_COMMIT,
    ptoas="ptoas",
    has_runtime=True,
    compiler="g++-15",
    cann="cann",
)
GAPS = {
    "has_pypto": (False, "it is not installed"),
    "is_canns": (True, "the package called pypto here is CANN's"),
    "ptoas": (None, "its assembler, ptoas, was not found"),
    "has_runtime": (False, "its runtime, simpler, is not installed"),
    "compiler": (None, "g++-15, which compiles kernels for its simulator"),
}


@pytest.mark.parametrize("part", GAPS)
def test_a_missing_part_is_named(part: str) -> None:
    value, words = GAPS[part]
    seen = dataclasses.replace(WHOLE, **{part: value})
    missing = missing_part(seen, "a2a3sim")
    assert missing is not None
    assert missing.code.id == "AR701"
    assert missing.message.startswith(f"pypto cannot be used: {words}")
    assert next_step(seen) == missing.help


def test_nothing_is_missing_where_all_is_there() -> None:
    for platform in ("a2a3sim", "a2a3", "a5sim", "a5"):
        assert missing_part(WHOLE, platform) is None
    assert next_step(WHOLE) == ""


def test_a_device_needs_cann_and_the_simulator_does_not() -> None:
    seen = dataclasses.replace(WHOLE, cann=None)
    assert missing_part(seen, "a5sim") is None
    missing = missing_part(seen, "a5")
    assert missing is not None
    assert "ASCEND_HOME_PATH is not set" in missing.message


def test_to_compile_only_needs_the_frontend_alone() -> None:
    bare = dataclasses.replace(WHOLE, ptoas=None, has_runtime=False, compiler=None)
    assert missing_part(bare, "a2a3sim", compile_only=True) is None


def test_canns_package_is_told_by_what_it_lacks(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(parts, "_folders", lambda _: [tmp_path])
    assert find_parts().has_pypto
    assert find_parts().is_canns
    (tmp_path / "language").mkdir()
    assert not find_parts().is_canns


def test_ptoas_is_looked_for_where_pypto_looks(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("PTOAS_ROOT", str(tmp_path))
    assert find_parts().ptoas is None
    (tmp_path / "bin").mkdir()
    tool = tmp_path / "bin" / "ptoas"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    assert find_parts().ptoas == str(tool)


def test_devices_are_counted_against_ranks(monkeypatch) -> None:
    monkeypatch.setattr(engine, "find_parts", lambda: WHOLE)
    source = SourceProgram(
        file=Path("k.py"), name="K", platform="a2a3sim", num_ranks=4, tensors=()
    )
    with pytest.raises(EngineUnavailableError) as caught:
        run_pypto(source, {}, RunOptions(devices=(0, 1, 2)))
    assert "4 ranks, but 3 devices were given" in str(caught.value)
