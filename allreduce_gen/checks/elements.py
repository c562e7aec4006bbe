"""What is wrong with some elements of one rank's output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from allreduce_gen.diagnostics import (
    Code,
    Diagnostic,
    Location,
    Severity,
    codes,
    diagnose,
)

from .analysis import Analysis
from .collectives import Source, Wanted
from .contents import IDEMPOTENT, Content
from .outputs import Output, Outputs, is_right, keeps_scale
from .program import Point
from .wording import join_words, name_ranks


class ElementJudge:
    """Says what is wrong with some elements of one rank's output."""

    def __init__(
        self, analysis: Analysis, read: Outputs, output: Output, content: Content
    ) -> None:
        self._analysis, self._operands = analysis, read.operands
        self._output, self._content = output, content
        self._terms = content.terms

    def judge(self, want: Wanted) -> Iterator[Diagnostic]:
        """What is wrong with the elements where `want` belongs."""
        if is_right(self._output, self._content, want):
            yield from self._rounded()
            return
        foreign = list(self._foreign(want))
        if self._terms.unwritten:
            yield from self.unwritten()
        if not self._terms.is_untouched:
            yield from foreign
        if not self._terms.unwritten and not foreign:
            yield from self._compare(want)

    def unwritten(self, severity: Severity | None = None) -> Iterator[Diagnostic]:
        """What nobody has written, or is read before that."""
        if self._terms.is_untouched:
            name = self._output.operand.buffer.name
            yield self._find(
                codes.AR405,
                f"{self._name(name)} is never written",
                "store every part of the output: one round of the loop for each chunk",
                severity=severity,
            )
            return
        for node in self._terms.unwritten[:1]:
            assert node.reader is not None
            reader = self._analysis.program.rank(node.reader)
            yield self._find(
                codes.AR407,
                f"{self._name()} is made of what rank {reader} takes from "
                f"{node.what} and nobody has written",
                "write it first, or cut the store to what has been written "
                "(valid_shape)",
                node.reader,
            )

    def _rounded(self) -> Iterator[Diagnostic]:
        for source, dtype in self._terms.narrowed[:1]:
            yield self._find(
                codes.AR410,
                f"{self._name()} holds {source.value} elements rounded to {dtype.value}"
                " on their way",
                f"move them as {source.value}, unless fewer digits are meant",
                severity=Severity.WARNING,
            )

    def _foreign(self, want: Wanted) -> Iterator[Diagnostic]:
        scaled = f"elements scaled by {self._terms.scale:g}"
        odd = () if keeps_scale(self._content, want) else (scaled,)
        why = list(dict.fromkeys((*self._terms.why, *self._terms.losses, *odd)))
        call = self._output.operand.call
        for term in self._terms.terms:
            operand = self._operands[term.operand]
            if operand.call != call and len(why) < 3:
                text = f"elements of {operand.name}, which belong to another call"
                why += [] if text in why else [text]
        if why:
            yield self._find(
                codes.AR410,
                f"{self._name()} holds {join_words(why)}: no rank's input elements",
                "start from a rank's own elements, and combine them by one operator",
            )

    def _compare(self, want: Wanted) -> Iterator[Diagnostic]:
        mine: Counter[Source] = Counter()
        for term in self._terms.terms:
            if term.operand == self._output.source:
                mine[term.source] += term.times
        missing, extra = want.sources - mine.keys(), mine.keys() - want.sources
        if extra:
            yield self._misplaced(min(extra), missing)
            moved = {rank for rank, _ in extra}
            missing = frozenset(one for one in missing if one[0] not in moved)
            if len(want.sources) == 1:
                return
        if missing:
            ranks = name_ranks(rank for rank, _ in missing)
            yield self._find(
                codes.AR405,
                f"{self._name()} lacks what {ranks} "
                f"contribute{'s' if len(missing) == 1 else ''}",
                "combine every rank's elements, the rank's own ones too",
            )
        yield from self._repeated(mine)

    def _repeated(self, mine: Counter[Source]) -> Iterator[Diagnostic]:
        often = {rank: count for (rank, _), count in mine.items() if count > 1}
        if often and self._terms.op not in IDEMPOTENT:
            count = often[min(often)]
            alike = [rank for rank in often if often[rank] == count]
            others = name_ranks(often.keys() - set(alike))
            rest = f", and {others} more than once" if len(alike) < len(often) else ""
            yield self._find(
                codes.AR406,
                f"{self._name()} counts {name_ranks(alike)} {count} times{rest}",
                "visit every peer once: (my_rank + step) % NUM_RANKS with step from 1",
            )

    def _misplaced(self, extra: Source, missing: Iterable[Source]) -> Diagnostic:
        rank, by = extra
        source = self._output.source_operand.name
        start, stop = self._content.start, self._content.stop
        rest = sorted(missing)
        belongs = [one for one in rest if one[0] == rank] or rest
        wanted = "nothing"
        if belongs:
            right, at = belongs[0]
            wanted = f"{source}[{start + at}:{stop + at}] of rank {right}"
        return self._find(
            codes.AR408,
            f"{self._name()} holds {source}[{start + by}:{stop + by}] of rank {rank} "
            f"where {wanted} belongs",
            "use the same offset where the data is stored and where it is read",
        )

    def _name(self, name: str | None = None) -> str:
        output, content = self._output, self._content
        span = f"{name or output.operand.name}[{content.start}:{content.stop}]"
        return f"{span} of rank {output.rank}"

    def _find(
        self,
        code: Code,
        message: str,
        help: str,
        point: Point | None = None,
        severity: Severity | None = None,
    ) -> Diagnostic:
        at = point or self._content.writer
        where = Location(rank=self._output.rank)
        return diagnose(
            code,
            message,
            location=where if at is None else self._analysis.program.location(at),
            help=help,
            severity=severity,
        )
