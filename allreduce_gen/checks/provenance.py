"""Whether every output element is made of what the collective says, once each."""

from __future__ import annotations

from collections.abc import Iterator

from allreduce_gen.diagnostics import Diagnostic, Severity, codes, diagnose
from allreduce_gen.ir.memory import Buffer
from allreduce_gen.ir.trace import Trace

from .analysis import Analysis
from .collectives import Collective
from .elements import ElementJudge
from .grouping import group
from .operators import compare_operators
from .outputs import Output, Outputs, beside, read_outputs, recognise_outputs, root_of
from .values import Unwritten


def recognise(trace: Trace) -> Collective | None:
    """The collective that `trace` computes, right or nearly; None where none fits."""
    return recognise_outputs(read_outputs(Analysis(trace)))


def check_provenance(
    analysis: Analysis,
    collective: Collective | None = Collective.ALL_REDUCE,
    outputs: Outputs | None = None,
) -> Iterator[Diagnostic]:
    """AR405 to AR408 and AR410.

    Where `collective` is None, only AR405 for what is never written, and AR407: those
    are wrong whatever the outputs should hold. `outputs` are `read_outputs(analysis)`,
    where the caller has them.
    """
    read = read_outputs(analysis) if outputs is None else outputs
    if collective is None:
        yield from group(_judge_unknown(analysis, read))
        return
    yield from group(_judge_all(analysis, read, collective))
    yield from compare_operators(analysis, read.outputs, collective)
    yield from (_report_unread(buffer) for buffer in read.unread)


def _judge_all(
    analysis: Analysis, read: Outputs, collective: Collective
) -> Iterator[Diagnostic]:
    root = root_of(read.outputs) if collective is Collective.BROADCAST else 0
    for output in read.outputs:
        for content, want in beside(output, collective, root):
            if not content.terms.is_faulty:
                yield from ElementJudge(analysis, read, output, content).judge(want)


def _judge_unknown(analysis: Analysis, read: Outputs) -> Iterator[Diagnostic]:
    """What is wrong with any output.

    A rank that writes none of its part, while others write theirs, may be none of
    those that the result is for: a warning.
    """
    written = {one.operand for one in read.outputs if not _is_untouched(one)}
    for output in read.outputs:
        is_left_out = output.operand in written and _is_untouched(output)
        severity = Severity.WARNING if is_left_out else None
        for content in output.contents:
            yield from ElementJudge(analysis, read, output, content).unwritten(severity)
    for buffer in read.unread:
        yield from _gaps(read, buffer)


def _is_untouched(output: Output) -> bool:
    return all(content.terms.is_untouched for content in output.contents)


def _gaps(read: Outputs, buffer: Buffer) -> Iterator[Diagnostic]:
    """What is never written of an output that is not divided among the ranks."""
    nodes = read.evaluation.values.nodes
    memory = read.evaluation.memory((buffer.name, 0), buffer)
    for start, stop, held in memory.read(0, buffer.nbytes):
        if isinstance(nodes[held.value.node], Unwritten) and held.writer is None:
            yield diagnose(
                codes.AR405,
                f"bytes {start} to {stop} of {buffer.name} are never written",
                help="store the result in it, or leave it out",
            )


def _report_unread(buffer: Buffer) -> Diagnostic:
    return diagnose(
        codes.AR309,
        f"what {buffer.name} holds is not decided: the ranks' views of it are not its "
        "parts, one after another",
        help=f"give rank r the part {buffer.name}[r] of one tensor [NUM_RANKS, ...]",
    )
