"""Whether the platform has the instructions: arithmetic, casts, atomic stores.

The compiler or the assembler refuses what there is not; a simulator may run it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from allreduce_gen.diagnostics import Diagnostic, codes, diagnose
from allreduce_gen.ir.events import (
    Cast,
    Combine,
    Event,
    RemoteStore,
    Repeat,
    Store,
    TileOp,
)
from allreduce_gen.ir.trace import AgentTrace, locate
from allreduce_gen.spec import DType, ReduceOp
from allreduce_gen.targets import Target

_OPS = {
    TileOp.ADD: ReduceOp.SUM,
    TileOp.SUB: ReduceOp.SUM,
    TileOp.MUL: ReduceOp.PROD,
    TileOp.MAX: ReduceOp.MAX,
    TileOp.MIN: ReduceOp.MIN,
}


def check_instructions(target: Target, one: AgentTrace) -> Iterator[Diagnostic]:
    """AR104, for each event of `one` that `target` has no instruction for."""
    for index, event in enumerate(one.events):
        for inner in _inner_events(event):
            for what, instead in _lacking(target, inner):
                yield diagnose(
                    codes.AR104,
                    f"{target.name} cannot {what}",
                    location=locate(one.agent, index, event),
                    help=instead,
                )


def _inner_events(event: Event) -> Iterator[Event]:
    if isinstance(event, Repeat):
        for inner in event.body:
            yield from _inner_events(inner)
    else:
        yield event


def _lacking(target: Target, event: Event) -> Iterator[tuple[str, str]]:
    """What `target` cannot do of `event`, and what to do instead."""
    match event:
        case Store(tile=tile, atomic=True) | RemoteStore(tile=tile, atomic=True):
            if tile.dtype not in target.atomic_adds:
                yield (
                    f"add {tile.dtype.value} atomically in memory",
                    f"use one of {_listed(target.atomic_adds)}, or slots of their own",
                )
        case Combine(op=op, tile=tile) if op in _OPS:
            if not target.combines(_OPS[op], tile.dtype):
                allowed = _listed(target.arithmetic[_OPS[op]])
                yield (
                    f"{op.value} tiles of {tile.dtype.value}",
                    f"cast them to one of {allowed} and the result back",
                )
        case Cast(source=source, tile=tile) if not tile.is_scalar:
            if not target.converts(source.dtype, tile.dtype):
                yield (
                    f"cast tiles of {source.dtype.value} to {tile.dtype.value}",
                    _cast_instead(target, source.dtype, tile.dtype),
                )


def _cast_instead(target: Target, source: DType, dtype: DType) -> str:
    between = [
        one for one in target.conversions.get(source, ()) if target.converts(one, dtype)
    ]
    if not between:
        return f"keep the data in {source.value}, or convert it outside the kernel"
    return f"cast them to one of {_listed(between)}, and that to {dtype.value}"


def _listed(dtypes: Iterable[DType]) -> str:
    allowed = frozenset(dtypes)
    return ", ".join(one.value for one in DType if one in allowed)
