"""The programs that are broken, for each number of ranks that they accept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from allreduce_gen import generate
from allreduce_gen.errors import AllReduceGenError
from allreduce_gen.spec import Algorithm, AllReduceSpec, Reuse
from tests import sources

RANKS = (2, 3, 4, 5, 6, 7, 8, 9, 16)
CALLS = 3
"""Calls in a row on the same windows, where a program is made for several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A program of the suite: its text for a number of ranks, and how often it runs."""

    name: str
    build: Callable[[int], str]
    calls: int = 1


def _emitted(algorithm: Algorithm, **options: object) -> Callable[[int], str]:
    def build(num_ranks: int) -> str:
        spec = AllReduceSpec(
            num_ranks=num_ranks,
            size=16 * num_ranks,
            algorithm=algorithm,
            **options,  # type: ignore[arg-type]
        )
        return generate(spec).source

    return build


def _written() -> Iterator[Subject]:
    yield Subject(name="written: two-phase", build=sources.two_phase)
    yield Subject(
        name="written: two-phase, epochs",
        build=lambda num_ranks: sources.two_phase(num_ranks, epoch=True),
        calls=CALLS,
    )
    yield Subject(
        name="written: two-phase, one row",
        build=lambda num_ranks: sources.two_phase(
            num_ranks, expected=("1", "2"), rows="ROW_A ROW_A"
        ),
    )
    yield Subject(
        name="written: mesh",
        build=lambda num_ranks: sources.mesh(num_ranks, sources.barrier()),
    )
    yield Subject(name="written: push", build=sources.push)
    yield Subject(name="written: ring", build=sources.ring)


def subjects() -> tuple[Subject, ...]:
    """Hand-written programs, then what is emitted for each algorithm."""
    reused = [
        Subject(
            name=f"emitted: two_phase, {reuse.value}",
            build=_emitted(Algorithm.TWO_PHASE, reuse=reuse),
            calls=CALLS,
        )
        for reuse in (Reuse.EPOCH, Reuse.SELF_CLEARING)
    ]
    once = [
        Subject(name=f"emitted: {algorithm.value}", build=_emitted(algorithm))
        for algorithm in Algorithm
    ]
    return (*_written(), *once, *reused)


def source_of(subject: Subject, num_ranks: int) -> str | None:
    """The program's text; None where it does not accept that number of ranks."""
    try:
        return subject.build(num_ranks)
    except AllReduceGenError:
        return None
