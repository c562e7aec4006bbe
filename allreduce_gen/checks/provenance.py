"""Whether every output element is made of what the collective says, once each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from allreduce_gen.diagnostics import Code, Diagnostic, Location, codes, diagnose
from allreduce_gen.ir.events import RemoteStore, Store, TileOp
from allreduce_gen.ir.memory import Buffer, BufferKind
from allreduce_gen.ir.trace import Trace
from allreduce_gen.ir.widen import inner_events, regions

from .analysis import Analysis
from .collectives import Collective, Source, Wanted
from .contents import Content
from .grouping import group
from .outputs import (
    Output,
    Outputs,
    beside,
    is_right,
    read_outputs,
    recognise_outputs,
    root_of,
)
from .program import Point
from .wording import join_words, name_ranks

_IDEMPOTENT = (TileOp.MAX, TileOp.MIN)


def recognise(trace: Trace) -> Collective | None:
    """The collective that `trace` computes, right or nearly; None where none fits."""
    return recognise_outputs(read_outputs(Analysis(trace)).outputs)


def check_provenance(
    analysis: Analysis,
    collective: Collective | None = Collective.ALL_REDUCE,
    outputs: Outputs | None = None,
) -> Iterator[Diagnostic]:
    """AR405 to AR408 and AR410; only AR407 where `collective` is None.

    `outputs` are `read_outputs(analysis)`, where the caller has them.
    """
    read = read_outputs(analysis) if outputs is None else outputs
    yield from group(_judge_all(analysis, read, collective))
    if collective is not None:
        yield from (_report_unread(buffer) for buffer in read.unread)


def check_written(trace: Trace) -> Iterator[Diagnostic]:
    """AR405 for outputs that no rank writes, in a program that reads inputs.

    That is wrong whatever the outputs should hold; a program that only signals, or
    moves data between windows, is left alone.
    """
    touched = {
        (region.view.buffer, isinstance(event, Store | RemoteStore))
        for one in trace.agents
        for event in inner_events(one.events)
        for region in regions(event)
    }
    kinds = {buffer.kind for buffer, writes in touched if not writes}
    if BufferKind.INPUT not in kinds:
        return
    for buffer in trace.buffers:
        if buffer.kind is BufferKind.OUTPUT and (buffer, True) not in touched:
            yield diagnose(
                codes.AR405,
                f"{buffer.name} is never written, by no rank",
                help="store the result in it, or leave it out",
            )


def _judge_all(
    analysis: Analysis, read: Outputs, collective: Collective | None
) -> Iterator[Diagnostic]:
    root = root_of(read.outputs) if collective is Collective.BROADCAST else 0
    for output in read.outputs:
        if collective is None:
            for content in output.contents:
                yield from _Judge(analysis, read, output, content).unwritten()
            continue
        for content, want in beside(output, collective, root):
            if not content.terms.is_faulty and not is_right(output, content, want):
                yield from _Judge(analysis, read, output, content).judge(want)


def _report_unread(buffer: Buffer) -> Diagnostic:
    return diagnose(
        codes.AR309,
        f"what {buffer.name} holds is not decided: the ranks' views of it are not its "
        "parts, one after another",
        help=f"give rank r the part {buffer.name}[r] of one tensor [NUM_RANKS, ...]",
    )


class _Judge:
    """Says what is wrong with some elements of one rank's output."""

    def __init__(
        self, analysis: Analysis, read: Outputs, output: Output, content: Content
    ) -> None:
        self._analysis, self._operands = analysis, read.operands
        self._output, self._content = output, content
        self._terms = content.terms

    def judge(self, want: Wanted) -> Iterator[Diagnostic]:
        if self._is_untouched():
            yield self._find(
                codes.AR405,
                f"{self._name()} is never written",
                "store every part of the output: one round of the loop for each chunk",
            )
            return
        yield from self.unwritten()
        foreign = list(self._foreign())
        yield from foreign
        if not self._terms.unwritten and not foreign:
            yield from self._compare(want)

    def unwritten(self) -> Iterator[Diagnostic]:
        """What is read before anybody has written it."""
        for node in self._terms.unwritten[:1]:
            if node.reader is not None:
                reader = self._analysis.program.rank(node.reader)
                yield self._find(
                    codes.AR407,
                    f"{self._name()} is made of what rank {reader} takes from "
                    f"{node.what} and nobody has written",
                    "write it first, or cut the store to what has been written "
                    "(valid_shape)",
                    node.reader,
                )

    def _is_untouched(self) -> bool:
        return any(node.reader is None for node in self._terms.unwritten)

    def _foreign(self) -> Iterator[Diagnostic]:
        why = list(dict.fromkeys(self._terms.why))
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
        if often and self._terms.op not in _IDEMPOTENT:
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

    def _name(self) -> str:
        output, content = self._output, self._content
        span = f"{output.operand.name}[{content.start}:{content.stop}]"
        return f"{span} of rank {output.rank}"

    def _find(
        self, code: Code, message: str, help: str, point: Point | None = None
    ) -> Diagnostic:
        at = point or self._content.writer
        where = Location(rank=self._output.rank)
        return diagnose(
            code,
            message,
            location=where if at is None else self._analysis.program.location(at),
            help=help,
        )
