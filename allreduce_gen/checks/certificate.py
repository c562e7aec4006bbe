"""The reduction certificate: by which expression every output element is made.

Two kernels, two ranks or two calls give the same bits for the same inputs where their
expressions are the same: the hash of an expression says so without the data.
"""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass

from allreduce_gen.ir.events import TileOp
from allreduce_gen.ir.trace import Trace

from .analysis import Analysis
from .outputs import Output, read_outputs
from .values import Combined, Leaf, Rounded, Scaled, Value, Values

_SIGNS = {TileOp.ADD: "+", TileOp.MUL: "*", TileOp.SUB: "-", TileOp.DIV: "/"}
_COMMUTES = (TileOp.ADD, TileOp.MUL, TileOp.MAX, TileOp.MIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiedRange:
    """Elements `start` to `stop` of an output are made by one expression.

    `x2` in it is rank 2's element at the same position. `digests` are the SHA-256 of
    each rank's expression, in the order of the ranks: all equal where ranks agree bit
    for bit.
    """

    output: str
    start: int
    stop: int
    expression: str
    digests: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether every rank has the same expression."""
        return len(set(self.digests)) == 1


def certify(trace: Trace) -> tuple[CertifiedRange, ...]:
    """The certificate of every output of `trace`, by rank 0's ranges."""
    read = read_outputs(Analysis(trace))
    values = read.evaluation.values
    by_name: dict[str, list[Output]] = {}
    for output in read.outputs:
        by_name.setdefault(output.operand.buffer.name, []).append(output)
    return tuple(
        one for outputs in by_name.values() for one in _certify_output(values, outputs)
    )


def _certify_output(values: Values, outputs: list[Output]) -> list[CertifiedRange]:
    """The ranges of one output, cut wherever any rank's expression changes."""
    cuts = sorted(
        {edge for one in outputs for piece in one.contents for edge in piece[:2]}
    )
    ranges = []
    for start, stop in itertools.pairwise(cuts):
        texts = [_expression_at(values, one, start) for one in outputs]
        ranges.append(
            CertifiedRange(
                output=outputs[0].operand.buffer.name,
                start=start,
                stop=stop,
                expression=texts[0],
                digests=tuple(
                    hashlib.sha256(text.encode()).hexdigest() for text in texts
                ),
            )
        )
    return ranges


def _expression_at(values: Values, output: Output, element: int) -> str:
    for content in output.contents:
        if content.start <= element < content.stop:
            return format_expression(values, output, content.value)
    return "nothing"


def format_expression(values: Values, output: Output, value: Value) -> str:
    """`bf16(((fp32(x0) + fp32(x1)) * 0.5))`: every rounding and scale in its place."""
    node = values.nodes[value.node]
    match node:
        case Combined(op=op, left=left, right=right, apart=apart):
            parts = [
                format_expression(values, output, Value(left, value.shift)),
                format_expression(values, output, Value(right, value.shift + apart)),
            ]
            if op in _COMMUTES:
                parts.sort(key=lambda text: (-len(text), text))
            return f"({f' {_SIGNS.get(op, op.value)} '.join(parts)})"
        case Scaled(op=op, source=source, scalar=scalar):
            inner = format_expression(values, output, Value(source, value.shift))
            return f"({inner} {_SIGNS.get(op, op.value)} {scalar!r})"
        case Rounded(source=source, dtype=dtype):
            inner = format_expression(values, output, Value(source, value.shift))
            return f"{dtype.value}({inner})"
        case Leaf():
            start, stride = output.source_operand.start, output.source_operand.stride
            rank, rest = divmod(value.shift - start, stride)
            return f"x{rank}" if not rest else f"x{rank}[{rest:+d}]"
        case _:
            return type(node).__name__.lower()
