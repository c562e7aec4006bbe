"""The plan drawn for every rank: a row a rank, a column a step, who needs whom.

Rank and step give the coordinates. A step in a loop is one node for all its rounds.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from allreduce_gen.costmodel import Terms
from allreduce_gen.costmodel.charging import charge
from allreduce_gen.ir.events import Event, Notify, RemoteLoad, RemoteStore, Wait
from allreduce_gen.ir.expr import evaluate
from allreduce_gen.ir.plan import Edge, EdgeKind, Plan
from allreduce_gen.ir.steps import Block, Step, leaves
from allreduce_gen.ir.trace import Trace
from allreduce_gen.ir.widen import flatten

from .plot import format_bytes
from .shapes import Box, Curve, Label, Picture, Shape, bend, list_ranks, straight

MAX_RANKS = 8

_LEFT, _TOP, _GAP = 62.0, 58.0, 34.0
_NODE_HEIGHT, _ROW = 30.0, 54.0
_CHAR = 6.6


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """Where a step's nodes stand."""

    x: float
    width: float


def draw_plan(plan: Plan, trace: Trace) -> Picture:
    """`plan`, whose expansion is `trace`, for up to MAX_RANKS ranks."""
    ranks, note = list_ranks(trace.num_ranks, MAX_RANKS)
    columns = _lay_columns(plan)
    doings = {
        rank: _group(flatten(trace.agents[rank].events), columns) for rank in ranks
    }
    shapes = (
        *_heads(plan, columns),
        *_program_lines(columns, doings),
        *_arrows(plan, columns, doings),
        *_nodes(columns, doings),
    )
    right = max((one.x + one.width for one in columns.values()), default=_LEFT)
    height = _TOP + _ROW * len(ranks)
    return Picture(width=right + 12, height=height, shapes=shapes, note=note)


_Columns = dict[str, _Column]
_Doings = dict[int, dict[str, list[Event]]]


def _lay_columns(plan: Plan) -> _Columns:
    columns: _Columns = {}
    x = _LEFT
    for name in plan.graph:
        width = max(_CHAR * len(name) + 12, 70.0)
        columns[name] = _Column(x=x, width=width)
        x += width + _GAP
    return columns


def _group(events: tuple[Event, ...], columns: _Columns) -> dict[str, list[Event]]:
    """What one rank does in each step; a step that it leaves out is missing."""
    found: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        step = event.origin.step
        if step in columns:
            found[step].append(event)
    return dict(found)


def _heads(plan: Plan, columns: _Columns) -> Iterator[Shape]:
    """Each step's name over its column, and a line over the columns of a loop."""
    for name, column in columns.items():
        middle = column.x + column.width / 2
        yield Label(x=middle, y=_TOP - 14, text=name, style="middle")
    for block in _loops(plan.steps):
        inner = [columns[one.name] for one in leaves(block.body)]
        left, right = inner[0].x - 6, inner[-1].x + inner[-1].width + 6
        yield Curve(path=straight(left, 26, right, 26), style="loop")
        text = f"{evaluate(block.rounds, plan.env)} rounds"
        yield Label(x=(left + right) / 2, y=20, text=text, style="middle loop")


def _loops(steps: tuple[Step, ...]) -> Iterator[Block]:
    for step in steps:
        if isinstance(step, Block):
            if step.is_looped:
                yield step
            else:
                yield from _loops(step.body)


def _nodes(columns: _Columns, doings: _Doings) -> Iterator[Shape]:
    for row, (rank, steps) in enumerate(doings.items()):
        y = _TOP + _ROW * row
        yield Label(x=8, y=y + _NODE_HEIGHT / 2 + 4, text=f"rank {rank}")
        for name, events in steps.items():
            column, step_text = columns[name], _describe(events, rank)
            yield Box(
                x=column.x,
                y=y,
                width=column.width,
                height=_NODE_HEIGHT,
                style=f"node {_kind(events)}",
                text=step_text,
                tip=f"rank {rank}, {name}: {step_text}",
            )


def _kind(events: list[Event]) -> str:
    """The colour of a node: what the step is there for."""
    if any(isinstance(event, Notify) for event in events):
        return "notify"
    if any(isinstance(event, Wait) for event in events):
        return "wait"
    remote = any(isinstance(event, RemoteLoad | RemoteStore) for event in events)
    return "remote" if remote else "copy"


def _describe(events: list[Event], rank: int) -> str:
    """How much a rank does in a step: notifies, waits, or bytes."""
    waits = sum(isinstance(event, Wait) for event in events)
    if waits:
        return f"{waits} wait{'s' if waits > 1 else ''}"
    notifies = sum(isinstance(event, Notify) for event in events)
    if notifies:
        return f"{notifies} notif{'ies' if notifies > 1 else 'y'}"
    terms = (charge(event, rank, opens_round=False) for event in events)
    total = sum(terms, Terms())
    return format_bytes(total.remote_bytes or total.copied_bytes / 2)


def _program_lines(columns: _Columns, doings: _Doings) -> Iterator[Shape]:
    for row, steps in enumerate(doings.values()):
        y = _TOP + _ROW * row + _NODE_HEIGHT / 2
        named = [columns[name] for name in columns if name in steps]
        for before, after in itertools.pairwise(named):
            path = straight(before.x + before.width, y, after.x, y)
            yield Curve(path=path, style="program")


def _arrows(plan: Plan, columns: _Columns, doings: _Doings) -> Iterator[Shape]:
    """Between ranks: who notifies whom, and who reads or writes whose window."""
    rows = {rank: row for row, rank in enumerate(doings)}
    for edge in plan.edges:
        for source, target in dict.fromkeys(_pairs(edge, doings)):
            start, end = columns[edge.source], columns[edge.target]
            path = bend(
                start.x + start.width,
                _TOP + _ROW * rows[source] + _NODE_HEIGHT / 2,
                end.x,
                _TOP + _ROW * rows[target] + _NODE_HEIGHT / 2,
            )
            tip = f"{edge.carrier}: rank {source} {edge.source} to rank {target}"
            yield Curve(path=path, style=f"arrow {edge.kind.value}", tip=tip)


def _pairs(edge: Edge, doings: _Doings) -> Iterator[tuple[int, int]]:
    """Which drawn rank's `source` step comes before which other one's `target`."""
    for rank, steps in doings.items():
        sources, targets = steps.get(edge.source, []), steps.get(edge.target, [])
        if edge.kind is EdgeKind.SIGNAL:
            pairs = [(rank, one.peer) for one in sources if isinstance(one, Notify)]
        elif edge.kind is EdgeKind.DATA:
            pairs = [
                (rank, one.peer) for one in sources if isinstance(one, RemoteStore)
            ]
            pairs += [
                (one.peer, rank) for one in targets if isinstance(one, RemoteLoad)
            ]
        else:
            pairs = []
        for before, after in pairs:
            does = edge.source in doings.get(before, {})
            if before != after and does and edge.target in doings.get(after, {}):
                yield before, after
