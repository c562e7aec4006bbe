"""What an all-reduce's trace says of itself: its operator and its calls' buffers."""

from __future__ import annotations

from dataclasses import dataclass

from allreduce_gen.spec import DType, ReduceOp

from .events import Combine, Load, Scale, Store, TileOp
from .memory import BufferKind
from .trace import Trace
from .widen import inner_events

_OPS = {
    TileOp.ADD: ReduceOp.SUM,
    TileOp.MUL: ReduceOp.PROD,
    TileOp.MAX: ReduceOp.MAX,
    TileOp.MIN: ReduceOp.MIN,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallBuffers:
    """The host buffers of one call: what goes in, what comes out, in which type."""

    source: str
    target: str
    size: int
    dtype: DType


def recognise_op(trace: Trace) -> ReduceOp | None:
    """The one operator that combines tiles, or None where there are several.

    A trace that combines nothing, that of one rank, counts as a sum.
    """
    ops: set[TileOp] = set()
    scales = False
    for one in trace.agents:
        for event in inner_events(one.events):
            if isinstance(event, Combine):
                ops.add(event.op)
            scales = scales or isinstance(event, Scale)
    if not ops:
        return ReduceOp.SUM
    op = _OPS.get(ops.pop())
    if ops or (scales and op is not ReduceOp.SUM):
        return None
    return ReduceOp.AVG if scales else op


def call_buffers(trace: Trace) -> tuple[CallBuffers, ...] | None:
    """The input and the output of each call, or None where they do not pair up."""
    dtypes = {
        event.region.view.buffer: event.region.view.dtype
        for one in trace.agents
        for event in inner_events(one.events)
        if isinstance(event, Load | Store)
    }
    by_kind = {
        kind: [buffer for buffer in trace.buffers if buffer.kind is kind]
        for kind in (BufferKind.INPUT, BufferKind.OUTPUT)
    }
    sources, targets = by_kind[BufferKind.INPUT], by_kind[BufferKind.OUTPUT]
    if len(sources) != len(targets) or not sources:
        return None
    if any(buffer not in dtypes for buffer in (*sources, *targets)):
        return None
    return tuple(
        CallBuffers(
            source=source.name,
            target=target.name,
            size=source.nbytes // dtypes[source].nbytes // trace.num_ranks,
            dtype=dtypes[source],
        )
        for source, target in zip(sources, targets, strict=True)
    )
