"""Plans as text for people and as data for programs."""

from __future__ import annotations

import dataclasses
import enum
import itertools
from collections.abc import Iterable, Iterator
from typing import Any, assert_never

from allreduce_gen.diagnostics.wording import plural
from allreduce_gen.spec import Reuse

from .constants import Constant, Factor
from .cost import Cost
from .expr import ONE, Binary, Const, Minimum, Name, format_expr
from .plan import Plan
from .steps import (
    Block,
    ClearSlots,
    Leaf,
    Move,
    NotifyPeers,
    PeerLoop,
    Peers,
    Place,
    Reduce,
    Span,
    Step,
    StepBase,
    WaitForPeers,
)

SCHEMA_VERSION = 1

_NO_WINDOWS = "none"

_REUSE = {
    Reuse.ONCE: "fresh at every call",
    Reuse.EPOCH: "may persist for any number of calls; the k-th passes epoch=k",
    Reuse.SELF_CLEARING: "may persist for any number of calls",
}


def format_plan(plan: Plan, cost: Cost) -> str:
    """The plan as a page of text, without a trailing newline."""
    spec = plan.spec
    sections = [
        f"{spec.name}: {spec.op.value} of "
        f"{plural(spec.size, f'{spec.dtype.value} element')} over "
        f"{plural(spec.num_ranks, 'rank')}, for {spec.platform}\n"
        f"windows: {_windows_may_be(plan)}",
        _section("constants", _constant_rows(plan)),
        _section("windows", _window_rows(plan)),
        _section("names", ((b.name, format_expr(b.value)) for b in plan.bindings)),
        _section("steps of my_rank", itertools.chain(*map(_step_rows, plan.steps))),
        _section("edges", _edge_rows(plan)),
        _section("cost of the busiest rank", _cost_rows(cost)),
    ]
    return "\n\n".join(section for section in sections if section)


def plan_to_json(plan: Plan, cost: Cost) -> dict[str, Any]:
    """The plan as plain data; expressions are text, `env` gives their names' values."""
    return {
        "schema_version": SCHEMA_VERSION,
        "spec": _plain(plan.spec),
        "windows_may_be": _windows_may_be(plan),
        "env": plan.env,
        "windows": [_plain(window) for window in plan.windows],
        "signal_rows": {row.name: row.value for row in plan.signal_rows},
        "names": {one.name: format_expr(one.value) for one in plan.bindings},
        "steps": [_plain(step) for step in plan.steps],
        "edges": [_plain(edge) for edge in plan.edges],
        "cost": _plain(cost),
    }


def _windows_may_be(plan: Plan) -> str:
    return _REUSE[plan.spec.reuse] if plan.windows else _NO_WINDOWS


def _plain(value: object) -> Any:
    if isinstance(value, Const | Name | Binary | Minimum):
        return format_expr(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if dataclasses.is_dataclass(value):
        fields = {
            one.name: _plain(getattr(value, one.name))
            for one in dataclasses.fields(value)
        }
        return {"kind": value.kind} | fields if isinstance(value, StepBase) else fields
    return value


def _section(title: str, rows: Iterable[tuple[str, ...]]) -> str:
    """`title` over its rows in aligned columns; nothing where there are no rows."""
    table = list(rows)
    if not table:
        return ""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in table
    )
    return "\n".join([title, *(f"    {line}".rstrip() for line in lines)])


def _constant_rows(plan: Plan) -> Iterable[tuple[str, ...]]:
    numbers: tuple[Constant | Factor, ...] = (*plan.constants, *plan.factors)
    for one in numbers:
        yield one.name, str(one.value), one.meaning


def _window_rows(plan: Plan) -> Iterable[tuple[str, ...]]:
    for window in plan.windows:
        shape = f"[{format_expr(window.rows)}, {format_expr(window.width)}]"
        yield window.name, shape, window.dtype.value, ""
    if plan.signal_rows:
        rows = ", ".join(f"{row.name} = {row.value}" for row in plan.signal_rows)
        yield "signal", f"[{plan.num_rows}, NUM_RANKS]", "int32", rows


def _step_rows(step: Step, depth: int = 0) -> Iterator[tuple[str, str]]:
    """A step's name beside what it does, its guard and its loop first."""
    lines = [] if step.guard is None else [f"if {format_expr(step.guard)}:"]
    if isinstance(step, Block):
        lines += _block_head(step)
    else:
        loops = (step.peers, step.targets if isinstance(step, Move) else None)
        lines += [_loop(loop) for loop in loops if isinstance(loop, PeerLoop)]
        lines.append(_action(step))
    for number, line in enumerate(lines):
        yield "" if number else step.name, f"{'    ' * (depth + number)}{line}"
    if isinstance(step, Block):
        for inner in step.body:
            yield from _step_rows(inner, depth + 1)


def _block_head(block: Block) -> list[str]:
    names = [f"{one.name} = {format_expr(one.value)}" for one in block.bindings]
    if not block.is_looped:
        return names
    bounds = f"0 to {format_expr(block.rounds)} - 1"
    return [f"for {block.var} = {bounds}: {', '.join(names)}".rstrip()]


def _action(step: Leaf) -> str:
    match step:
        case Move():
            scale = "" if step.scale is None else f" x {step.scale.name}"
            change = step.conversion
            cast = "" if change is None else f" as {change.target.value}"
            moved = f"{_place(step.source)}{scale}{cast}"
            return f"{_place(step.target)} = {moved}{_span(step.span)}"
        case Reduce():
            parts = f"{_place(step.own)}, {_place(step.contribution)}"
            scale = "" if step.scale is None else f" x {step.scale.name}"
            combined = f"{step.op.value}({parts}){scale} in {step.accumulator.value}"
            return f"{_place(step.target)} = {combined}{_span(step.span)}"
        case NotifyPeers():
            slot = f"signal[{format_expr(step.row)}, my_rank]"
            return f"{slot} of {_peer(step.peers)} += {step.value}"
        case WaitForPeers():
            slot = f"signal[{format_expr(step.row)}, {_peer(step.peers)}]"
            return f"until {slot} >= {format_expr(step.expected)}"
        case ClearSlots():
            rows = format_expr(step.row)
            if step.num_rows != ONE:
                rows = f"{rows} to {format_expr(step.row + step.num_rows)} - 1"
            return f"own signal[{rows}, {_peer(step.peers)}] -= 1"
        case _:
            assert_never(step)


def _peer(peers: Peers) -> str:
    return peers.name if isinstance(peers, PeerLoop) else format_expr(peers.peer)


def _place(place: Place) -> str:
    index = f"[{format_expr(place.row)}, {format_expr(place.at)} +]"
    owner = "" if place.peer is None else f" of {format_expr(place.peer)}"
    return f"{place.window}{index}{owner}"


def _span(span: Span) -> str:
    parts = [format_expr(span.tile)]
    if span.is_looped:
        parts = [f"{format_expr(span.num_tiles)} x {parts[0]}"]
    if span.has_tail:
        parts.append(format_expr(span.tail))
    text = f", {' + '.join(parts)} elements"
    if span.cut is not None:
        text += f", the last tile cut to {format_expr(span.cut)}"
    return (
        text
        if span.limit is None
        else f"{text}, none from {format_expr(span.limit)} on"
    )


def _loop(loop: PeerLoop) -> str:
    bounds = f"{format_expr(loop.start)} to {format_expr(loop.stop)} - 1"
    head = f"for {loop.var} = {bounds}:"
    if loop.var == loop.name:
        return head
    return f"{head} {loop.name} = {format_expr(loop.peer)}"


def _edge_rows(plan: Plan) -> Iterable[tuple[str, ...]]:
    for edge in plan.edges:
        yield f"{edge.source} -> {edge.target}", edge.kind.value, edge.carrier


def _cost_rows(cost: Cost) -> Iterable[tuple[str, ...]]:
    for field in dataclasses.fields(cost):
        value = getattr(cost, field.name)
        if field.name == "saved_window_bytes" and not value:
            continue
        yield field.name, f"{value:.1f}" if isinstance(value, float) else str(value)
