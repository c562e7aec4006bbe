"""Ranks under an mpiexec that somebody else started, and over a network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from allreduce_gen.engines.mpi import find_mpiexec
from allreduce_gen.engines.mpi.launch import LEAVE

ROOT = Path(__file__).parents[4]
KERNEL = ROOT / "tests" / "golden" / "kernels" / "two_phase_p4_n4096_fp32.py"

pytestmark = pytest.mark.usefixtures("leaves_nothing")


def mpiexec(*words: str, file: Path = KERNEL, before: tuple[str, ...] = ()):
    """`allreduce-gen run FILE --engine mpi` under mpiexec with the flags `words`."""
    command = [*before, find_mpiexec(), *words, sys.executable, "-m", "allreduce_gen"]
    return subprocess.run(
        [*command, "run", str(file), "--engine", "mpi"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=os.environ | LEAVE | {"PYTHONPATH": str(ROOT), "UCX_LOG_LEVEL": "fatal"},
        timeout=120,
        check=False,
    )


def test_rank_0_prints_for_all() -> None:
    done = mpiexec("-n", "4")
    assert done.returncode == 0
    assert done.stdout == "OK\n"
    assert done.stderr.count("4 ranks x 4096 elements right on every rank") == 1


def test_another_number_of_processes_is_refused() -> None:
    done = mpiexec("-n", "3")
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.count("error[AR701]") == 1
    assert "the kernel has 4 ranks, but mpiexec started 3 processes" in done.stderr


def test_what_is_wrong_on_every_rank_is_said_once(tmp_path: Path) -> None:
    done = mpiexec("-n", "2", file=tmp_path / "none.py")
    assert done.returncode == 1
    assert done.stderr.count("error[AR704]") == 1


NETWORK = {"left": "10.213.7.1", "right": "10.213.7.2"}


@pytest.fixture
def hosts(tmp_path: Path):
    """Two network namespaces with an address each and a wire between them.

    Gives the flags with which mpiexec in the left one starts ranks in both.
    """
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and the ip command (iproute2)")
    if "HYDRA" not in run(find_mpiexec(), "--version"):
        pytest.skip("the launcher of this test is one for MPICH's mpiexec")
    names = {side: f"arg{os.getpid()}{side}" for side in NETWORK}
    if not try_to_add(*names.values()):
        pytest.skip("network namespaces cannot be made here")
    try:
        connect(names)
        script = tmp_path / "launcher"
        script.write_text(LAUNCHER.format(namespace=names["right"]))
        script.chmod(0o700)
        listed = tmp_path / "hosts"
        listed.write_text("".join(f"{one}:2\n" for one in NETWORK.values()))
        yield (
            names,
            (
                *("-localhost", NETWORK["left"], "-f", str(listed)),
                *("-launcher", "ssh", "-launcher-exec", str(script)),
            ),
        )
    finally:
        for name in names.values():
            subprocess.run(["ip", "netns", "delete", name], check=False)


LAUNCHER = """\
#!/bin/sh
# mpiexec calls it like ssh: flags, a host, a command.
while [ "${{1#-}}" != "$1" ]; do shift; done
shift
exec ip netns exec {namespace} sh -c "$*"
"""


def run(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def try_to_add(left: str, right: str) -> bool:
    """Whether both namespaces could be made; if not, none is left."""
    added = []
    for name in (left, right):
        done = subprocess.run(
            ["ip", "netns", "add", name], capture_output=True, check=False
        )
        if done.returncode:
            for one in added:
                run("ip", "netns", "delete", one)
            return False
        added.append(name)
    return True


def connect(names: dict[str, str]) -> None:
    wire = [f"veth{os.getpid()}{end}"[:15] for end in "lr"]
    run("ip", "link", "add", wire[0], "type", "veth", "peer", "name", wire[1])
    for end, (side, name) in zip(wire, names.items(), strict=True):
        run("ip", "link", "set", end, "netns", name)
        inside = ("ip", "netns", "exec", name, "ip")
        run(*inside, "address", "add", f"{NETWORK[side]}/24", "dev", end)
        run(*inside, "link", "set", end, "up")
        run(*inside, "link", "set", "lo", "up")


def test_two_machines_give_the_same(hosts) -> None:
    names, flags = hosts
    before = ("ip", "netns", "exec", names["left"], "env", "UCX_TLS=tcp,self")
    done = mpiexec(*flags, "-n", "4", before=before)
    assert (done.returncode, done.stdout) == (0, "OK\n"), done.stderr
    assert sent_bytes(names["right"]) > 4096 * 4


def sent_bytes(namespace: str) -> int:
    lines = run("ip", "netns", "exec", namespace, "cat", "/proc/net/dev").splitlines()
    (wire,) = (line.split() for line in lines if "veth" in line)
    return int(wire[9])
