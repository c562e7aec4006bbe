"""Every output of a program beside what a collective would leave there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from allreduce_gen.ir.memory import Buffer, BufferKind

from .analysis import Analysis
from .collectives import Collective, Shape, Wanted, fits_shape, wanted
from .contents import IDEMPOTENT, Content, Reader
from .evaluation import Evaluation
from .operands import Operand, find_operands, find_parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One rank's part of an output: what it holds, and the input it is made of.

    `source` is that input's number among the operands; None where its call has none.
    """

    operand: Operand
    source: int | None
    source_operand: Operand
    rank: int
    contents: tuple[Content, ...]
    shape: Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """All outputs, the operands, and the evaluation that the values belong to.

    `unread` are outputs that are not divided among the ranks part by part. Where the
    program `has_windows`, ranks can read each other's.
    """

    outputs: tuple[Output, ...]
    operands: tuple[Operand, ...]
    evaluation: Evaluation
    unread: tuple[Buffer, ...]
    has_windows: bool


def read_outputs(analysis: Analysis) -> Outputs:
    """Run the program on symbolic values and read every output."""
    evaluation = Evaluation(analysis)
    operands, num_ranks = find_operands(analysis), analysis.trace.num_ranks
    reader = Reader(evaluation, find_parts(operands, num_ranks))
    outputs: list[Output] = []
    for operand in operands:
        if operand.is_output:
            parts = [tuple(reader.read(operand, rank)) for rank in range(num_ranks)]
            outputs += _outputs_of(operand, operands, parts)
    return Outputs(
        outputs=tuple(outputs),
        operands=operands,
        evaluation=evaluation,
        unread=_unread(analysis, operands),
        has_windows=any(buffer.is_window for buffer in analysis.trace.buffers),
    )


def _unread(analysis: Analysis, operands: tuple[Operand, ...]) -> tuple[Buffer, ...]:
    known = {operand.buffer for operand in operands}
    return tuple(
        buffer
        for buffer in analysis.trace.buffers
        if buffer.kind is BufferKind.OUTPUT and buffer not in known
    )


def _outputs_of(
    operand: Operand, operands: tuple[Operand, ...], parts: list[tuple[Content, ...]]
) -> Iterator[Output]:
    source = _source_of(operand, operands, parts)
    source_operand = operand if source is None else operands[source]
    size_in, size_out = source_operand.size, operand.size
    for rank, contents in enumerate(parts):
        yield Output(
            operand=operand,
            source=source,
            source_operand=source_operand,
            rank=rank,
            contents=contents,
            shape=Shape(num_ranks=len(parts), size_in=size_in, size_out=size_out),
        )


def _source_of(
    output: Operand, operands: tuple[Operand, ...], parts: list[tuple[Content, ...]]
) -> int | None:
    """The number of the input of the same call that `output` is mostly made of."""
    votes = Counter(
        number
        for contents in parts
        for content in contents
        for number in content.terms.operands
    )
    inputs = [
        number
        for number, one in enumerate(operands)
        if one.is_input and one.call == output.call
    ]
    return max(inputs, key=lambda number: votes[number], default=None)


def beside(
    output: Output, collective: Collective, root: int
) -> Iterator[tuple[Content, Wanted]]:
    """What `output` holds beside what `collective` wants, cut where either changes."""
    theirs = wanted(collective, output.shape, output.rank, root)
    contents = iter(output.contents)
    content, want = next(contents, None), next(theirs, None)
    while content is not None and want is not None:
        start, stop = max(content.start, want.start), min(content.stop, want.stop)
        if start < stop:
            yield content._replace(start=start, stop=stop), want
        if content.stop <= want.stop:
            content = next(contents, None)
        else:
            want = next(theirs, None)


def is_right(output: Output, content: Content, want: Wanted) -> bool:
    """Whether `content` is exactly what is wanted, but for the rounding of reals."""
    terms = content.terms
    return (
        keeps_scale(content, want)
        and _is_altered(output, content, want)
        and not any(terms.losses)
    )


def keeps_scale(content: Content, want: Wanted) -> bool:
    """Whether nothing is scaled, but for a mean where contributions are summed."""
    return content.terms.scale == 1.0 or len(want.sources) > 1


def _is_altered(output: Output, content: Content, want: Wanted) -> bool:
    """Whether `content` is what is wanted, if perhaps scaled as a mean, or cast."""
    terms = content.terms
    return (
        terms.is_pure
        and (terms.op in IDEMPOTENT or terms.times == len(want.sources))
        and terms.sources == want.sources
        and terms.operands == {output.source}
    )


def root_of(outputs: tuple[Output, ...]) -> int:
    """The rank that most output elements are copies of: a broadcast's root."""
    votes: Counter[int] = Counter()
    for output in outputs:
        for content in output.contents:
            terms = content.terms.terms
            if len(terms) == 1 and terms[0].times == 1:
                rank, _ = terms[0].source
                votes[rank] += content.stop - content.start
    return min(votes, key=lambda rank: (-votes[rank], rank), default=0)


def recognise_outputs(read: Outputs) -> Collective | None:
    """The collective that most output elements fit; None where none does.

    Sums of several ranks' elements are an attempt at a reduction, however few are
    right, and so are copies of peers' elements in outputs as large as all inputs one at
    an all-gather. Other copies are a collective only where more than half lie where it
    wants them: a program that copies its own input is none, nor is one without windows.
    """
    outputs = read.outputs
    if any(output.shape.num_ranks == 1 for output in outputs):
        return Collective.ALL_REDUCE
    if not read.has_windows:
        return None
    root, size = root_of(outputs), sum(output.shape.size_out for output in outputs)
    scores: dict[Collective, int] = {}
    for collective in Collective:
        if all(fits_shape(collective, output.shape) for output in outputs):
            score = sum(_score(output, collective, root) for output in outputs)
            if score == size * _RIGHT > 0:
                return collective
            scores[collective] = score
    best = max(scores, key=lambda one: scores[one], default=None)
    if best is None or not scores[best]:
        return None
    is_attempt = best in _ATTEMPTS
    return best if is_attempt or scores[best] > size * _RIGHT // 2 else None


_ATTEMPTS = (Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.ALL_GATHER)
_RIGHT, _ALTERED, _PART, _NEAR = 4, 3, 2, 1


def _score(output: Output, collective: Collective, root: int) -> int:
    """Elements that are right, or that combine elements of the right ranks."""
    return sum(
        (content.stop - content.start) * _weight(output, content, want, collective)
        for content, want in beside(output, collective, root)
    )


def _weight(
    output: Output, content: Content, want: Wanted, collective: Collective
) -> int:
    sources = content.terms.sources
    if is_right(output, content, want):
        return _RIGHT
    if _is_altered(output, content, want):
        return _ALTERED
    ranks = {rank for rank, _ in sources}
    if len(ranks) < 2 and content.terms.times < 2:
        is_copy = bool(ranks - {output.rank}) and collective is Collective.ALL_GATHER
        return _NEAR if is_copy else 0
    if sources <= want.sources:
        return _PART
    return _NEAR if ranks <= {rank for rank, _ in want.sources} else 0
