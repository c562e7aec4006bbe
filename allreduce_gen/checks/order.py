"""Whether all ranks combine contributions in the same order, and so get the same bits.

Rounding makes (a + b) + c and a + (b + c) differ in the last bits. Orders are compared
as expression trees; swapping the operands of one combine changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from allreduce_gen.diagnostics import Diagnostic, Note, codes, diagnose
from allreduce_gen.ir.events import TileOp

from .analysis import Analysis
from .collectives import Collective
from .contents import Content
from .grouping import group
from .operands import Operand
from .outputs import Output, Outputs, beside, is_right, read_outputs
from .values import Combined, Leaf, Rounded, Scaled, Value, Values
from .wording import name_ranks

_ROUNDS = (TileOp.ADD, TileOp.MUL)
_MOST_SHOWN = 8


def check_order(
    analysis: Analysis, outputs: Outputs | None = None
) -> Iterator[Diagnostic]:
    """AR409, for the outputs of an all-reduce of floats.

    `outputs` are `read_outputs(analysis)`, where the caller has them.
    """
    read = read_outputs(analysis) if outputs is None else outputs
    by_operand: dict[Operand, list[Output]] = {}
    for output in read.outputs:
        if output.operand.dtype.is_float:
            by_operand.setdefault(output.operand, []).append(output)
    values = read.evaluation.values
    yield from group(
        one
        for outputs_of in by_operand.values()
        for one in _compare_ranks(analysis, values, outputs_of)
    )


def _compare_ranks(
    analysis: Analysis, values: Values, outputs: list[Output]
) -> Iterator[Diagnostic]:
    """Where a rank's expression is not that of the first rank: one finding a rank."""
    first, *others = outputs
    reference = _right(first)
    known = [content[:3] for content in reference]
    for other in others:
        theirs = _right(other)
        if [content[:3] for content in theirs] == known:
            continue
        for mine, content in _overlaps(reference, theirs):
            if _is_alike(mine, content) and _is_ordered(values, content.value):
                yield _report(analysis, values, (first, mine), (other, content))
                break


def _right(output: Output) -> list[Content]:
    return [
        content
        for content, want in beside(output, Collective.ALL_REDUCE, 0)
        if is_right(output, content, want)
    ]


def _overlaps(
    left: list[Content], right: list[Content]
) -> Iterator[tuple[Content, Content]]:
    """Contents of two ranks at the same elements, both cut to those."""
    mine, theirs = 0, 0
    while mine < len(left) and theirs < len(right):
        ours, others = left[mine], right[theirs]
        start, stop = max(ours.start, others.start), min(ours.stop, others.stop)
        if start < stop:
            yield (
                ours._replace(start=start, stop=stop),
                others._replace(start=start, stop=stop),
            )
        mine += ours.stop == stop
        theirs += others.stop == stop


def _is_alike(mine: Content, content: Content) -> bool:
    """Whether two expressions differ by their order only, not by their operator."""
    left, right = mine.terms, content.terms
    differ = mine.value != content.value
    return differ and (left.op, left.scale) == (right.op, right.scale)


def _is_ordered(values: Values, value: Value) -> bool:
    """Whether the expression rounds and its order is fixed (no atomic adds)."""
    todo, rounds = [value.node], False
    while todo:
        node = values.nodes[todo.pop()]
        if isinstance(node, Combined):
            if node.atomic:
                return False
            rounds = rounds or node.op in _ROUNDS
            todo += [node.left, node.right]
        elif isinstance(node, Scaled | Rounded):
            todo.append(node.source)
    return rounds


def _report(
    analysis: Analysis,
    values: Values,
    left: tuple[Output, Content],
    right: tuple[Output, Content],
) -> Diagnostic:
    output, content = right
    assert content.writer is not None
    ranks = [rank for rank, _ in content.terms.sources]
    notes = tuple(
        Note(label="order", text=f"rank {one.rank}: {_format(values, one, at.value)}")
        for one, at in (left, right)
        if len(ranks) <= _MOST_SHOWN
    )
    return diagnose(
        codes.AR409,
        f"rank {output.rank} combines {output.operand.name}"
        f"[{content.start}:{content.stop}] of {name_ranks(ranks)} in another order "
        f"than rank {left[0].rank}, so their last bits may differ",
        location=analysis.program.location(content.writer),
        notes=notes,
        help="let one rank reduce each chunk and the others read its sum, or let every "
        "rank start from rank 0 and go up",
    )


def _format(values: Values, output: Output, value: Value) -> str:
    """`(x0 + x1) + x2`: the expression by ranks."""
    node = values.nodes[value.node]
    match node:
        case Combined(op=op, left=left, right=right, apart=apart):
            parts = (Value(left, value.shift), Value(right, value.shift + apart))
            texts = [_format_inner(values, output, part) for part in parts]
            if op in _ROUNDS:  # either way round; compound first reads best
                texts.sort(key=lambda text: (-len(text), text))
            return f" {_SIGNS.get(op, op.value)} ".join(texts)
        case Scaled(source=source) | Rounded(source=source):
            return _format(values, output, Value(source, value.shift))
        case Leaf():
            start, stride = output.source_operand.start, output.source_operand.stride
            return f"{output.source_operand.name}{(value.shift - start) // stride}"
        case _:
            return "?"


_SIGNS = {TileOp.ADD: "+", TileOp.MUL: "*"}


def _format_inner(values: Values, output: Output, value: Value) -> str:
    text = _format(values, output, value)
    return f"({text})" if " " in text else text
