"""How long `check` of an emitted two-phase file takes, and what memory."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from allreduce_gen.pipeline import generate
from allreduce_gen.spec import AllReduceSpec
from allreduce_gen.verdicts import check_file

SMALL_BYTES, LARGE_BYTES = 64 * 1024, 64 * 1024 * 1024
CASES = (
    (4, SMALL_BYTES, 0.2),
    (16, SMALL_BYTES, 0.5),
    (64, SMALL_BYTES, 2.0),
    (64, LARGE_BYTES, 2.0),
)
"""Ranks, bytes of the vector, and the seconds that are allowed on two cores."""

MEMORY_LIMIT_BYTES = 1 << 30
_ELEM_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTime:
    """One case: the median of `repeats` checks in this process, start-up left out.

    `seconds` are those of the clock; `cpu_seconds` do not count what others took.
    `peak_bytes` is the most memory that the process has had so far.
    """

    num_ranks: int
    size_bytes: int
    repeats: int
    seconds: float
    cpu_seconds: float
    limit_seconds: float
    peak_bytes: int

    @property
    def is_within(self) -> bool:
        in_time = self.seconds <= self.limit_seconds
        return in_time and self.peak_bytes <= MEMORY_LIMIT_BYTES


def measure_checks(repeats: int = 5) -> Iterator[CheckTime]:
    """Every case, one after another."""
    with TemporaryDirectory() as folder:
        for num_ranks, size_bytes, limit in CASES:
            spec = AllReduceSpec(num_ranks=num_ranks, size=size_bytes // _ELEM_BYTES)
            path = Path(folder) / f"two_phase_p{num_ranks}_n{spec.size}.py"
            path.write_text(generate(spec).source, encoding="utf-8")
            times = [_time_check(path) for _ in range(repeats)]
            yield CheckTime(
                num_ranks=num_ranks,
                size_bytes=size_bytes,
                repeats=repeats,
                seconds=statistics.median(wall for wall, _ in times),
                cpu_seconds=statistics.median(cpu for _, cpu in times),
                limit_seconds=limit,
                peak_bytes=_peak_bytes(),
            )


def _time_check(path: Path) -> tuple[float, float]:
    """Seconds of the clock, and of the processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    check_file(path)
    return time.perf_counter() - wall, time.process_time() - cpu


def _peak_bytes() -> int:
    """Linux counts it in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
