"""The whole matrix, and its page docs/reference/mutations.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from .catalogue import MUTATIONS
from .judging import EQUIVALENT, KILLED, find_errors, judge_mutant
from .programs import RANKS, Subject, source_of, subjects

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "mutations.md"


@dataclass(slots=True)
class Cell:
    """The mutants of one program for one number of ranks, by mutation."""

    subject: str
    num_ranks: int
    accepted: bool = True
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    survivors: list[str] = field(default_factory=list)


def judge_cell(subject: Subject, num_ranks: int) -> Cell:
    """Every mutation of `subject` on `num_ranks` ranks."""
    cell = Cell(subject.name, num_ranks)
    source = source_of(subject, num_ranks)
    if source is None:
        cell.accepted = False
        return cell
    with TemporaryDirectory() as folder:
        errors = find_errors(source, subject.calls, Path(folder))
        if errors:
            cell.survivors.append(f"{subject.name}, P={num_ranks}: {sorted(errors)}")
        for mutation in MUTATIONS:
            counts = cell.counts.setdefault(mutation.name, Counter())
            for number, mutant in enumerate(mutation.apply(source)):
                outcome = judge_mutant(mutant, mutation, subject.calls, Path(folder))
                counts[outcome.partition(":")[0]] += 1
                if outcome not in (KILLED, EQUIVALENT):
                    where = f"{subject.name}, P={num_ranks}, {mutation.name} {number}"
                    cell.survivors.append(f"{where}: {outcome}")
    return cell


def all_cells() -> Iterator[tuple[Subject, int]]:
    for subject in subjects():
        for num_ranks in RANKS:
            yield subject, num_ranks


def format_counts(counts: Counter[str]) -> str:
    """`3` where all are killed, `2+1` where one is equivalent, `-` for no mutant."""
    if not counts:
        return "-"
    equivalent = counts[EQUIVALENT]
    return f"{counts[KILLED]}" + (f"+{equivalent}" if equivalent else "")


_HEAD = """\
# Mutations

<!-- Made by `python -m tests.mutations --write`. -->

Each program of the suite is broken in each named way, for every number of ranks from 2
to 9 and for 16 that it accepts, at its declared number of calls; emitted programs are
emitted anew for each number. The first and the last place where a mutation applies are
taken. A mutant is *killed* where `check` finds one of the stated codes. It is
*equivalent* where the second judge proves every execution free of races and deadlocks
and the simulator's results are right: it is another program for the same thing, such as
`Eq` in place of `Ge` on a slot that is raised once.

`3` means three mutants killed, `2+1` two killed and one equivalent, `-` that the
mutation applies nowhere.
"""


def format_page(cells: Sequence[Cell]) -> str:
    """The page: the mutations, their sums for each program, then each program by P."""
    names = list(dict.fromkeys(cell.subject for cell in cells))
    sections = [_HEAD, _totals(cells), _stated(cells)]
    sections += [
        _program(name, [c for c in cells if c.subject == name]) for name in names
    ]
    return "\n".join(sections)


def _sum(cells: Iterable[Cell], name: str | None = None) -> Counter[str]:
    total: Counter[str] = Counter()
    for cell in cells:
        for mutation, counts in cell.counts.items():
            if name in (None, mutation):
                total += counts
    return total


def _totals(cells: Sequence[Cell]) -> str:
    total = _sum(cells)
    programs = sum(cell.accepted for cell in cells)
    return (
        f"{total.total()} mutants of {programs} programs: {total[KILLED]} killed, "
        f"{total[EQUIVALENT]} equivalent, "
        f"{total.total() - total[KILLED] - total[EQUIVALENT]} survived.\n"
    )


def _stated(cells: Sequence[Cell]) -> str:
    rows = [
        f"| {one.name} | {', '.join(sorted(one.codes))} "
        f"| {format_counts(_sum(cells, one.name))} |"
        for one in MUTATIONS
    ]
    head = "| mutation | killed by one of | mutants |\n| --- | --- | --- |"
    return "\n".join(("## Mutations and their codes\n", head, *rows, ""))


def _program(name: str, cells: Sequence[Cell]) -> str:
    head = "| mutation | " + " | ".join(f"P={cell.num_ranks}" for cell in cells) + " |"
    rule = "| --- |" + " --- |" * len(cells)
    rows = [_row(mutation.name, cells) for mutation in MUTATIONS]
    return "\n".join((f"## {name}\n", head, rule, *rows, ""))


def _row(mutation: str, cells: Sequence[Cell]) -> str:
    shown = (
        format_counts(cell.counts[mutation]) if cell.accepted else "" for cell in cells
    )
    return f"| {mutation} | {' | '.join(shown)} |"
