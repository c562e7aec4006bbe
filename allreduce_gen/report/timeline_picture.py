"""The replayed trace in space and time: a row a rank, time to the right."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

from allreduce_gen.costmodel import CostModel, Replay, TimedEvent, format_seconds
from allreduce_gen.ir.events import Notify, Wait, event_kind
from allreduce_gen.ir.memory import format_region

from .shapes import Box, Curve, Label, Picture, Shape, list_ranks, straight

MAX_RANKS = 16
MAX_ARROWS = 1500

_LEFT, _TOP, _RIGHT = 62.0, 14.0, 1120.0
_ROW, _BAR = 40.0, 20.0
_THINNEST = 0.15
"""Bars below this width are left out: nobody sees them."""


def draw_timeline(replayed: Replay, model: CostModel, num_ranks: int) -> Picture:
    """What the first MAX_RANKS ranks do when; the critical path is underlined."""
    ranks, note = list_ranks(num_ranks, MAX_RANKS)
    rows = {rank: _TOP + _ROW * row for row, rank in enumerate(ranks)}
    scale = (_RIGHT - _LEFT) / max(replayed.seconds, 1e-12)
    bottom = _TOP + _ROW * len(ranks)
    arrows = list(_arrows(replayed, rows, scale))
    if len(arrows) > MAX_ARROWS:
        note = f"{note} {len(arrows)} notifies are too many to draw.".strip()
        arrows = []
    shapes = (
        *_axis(replayed.seconds, scale, bottom),
        *(Label(x=8, y=y + 15, text=f"rank {rank}") for rank, y in rows.items()),
        *_bars(replayed, rows, scale, model),
        *arrows,
        *_path(replayed, rows, scale),
    )
    return Picture(width=_RIGHT + 40, height=bottom + 26, shapes=shapes, note=note)


def _axis(seconds: float, scale: float, bottom: float) -> Iterator[Shape]:
    step = _round_step(seconds / 8)
    for number in range(int(seconds / step) + 1):
        x = _LEFT + number * step * scale
        yield Curve(path=straight(x, _TOP - 6, x, bottom), style="grid")
        text = format_seconds(number * step) if number else "0"
        yield Label(x=x, y=bottom + 14, text=text, style="middle")


def _round_step(least: float) -> float:
    """1, 2 or 5 times a power of ten, at least `least`."""
    power = 10.0 ** math.floor(math.log10(max(least, 1e-12)))
    return next(
        digit * power for digit in (1, 2, 5, 10) if digit * power >= least * (1 - 1e-9)
    )


def _bars(
    replayed: Replay, rows: dict[int, float], scale: float, model: CostModel
) -> Iterator[Shape]:
    for one in replayed.events:
        if one.agent.rank not in rows:
            continue
        for start, end, style in _parts(one, model):
            width = (end - start) * scale
            if width >= _THINNEST:
                yield Box(
                    x=_LEFT + start * scale,
                    y=rows[one.agent.rank],
                    width=width,
                    height=_BAR,
                    style=f"bar {style}",
                    tip=_tip(one),
                )


def _parts(one: TimedEvent, model: CostModel) -> Iterator[tuple[float, float, str]]:
    """A transfer waits for its port, then for the latency, then moves bytes."""
    terms = one.terms
    if isinstance(one.event, Wait):
        yield one.start_s, one.end_s, "wait"
    elif isinstance(one.event, Notify):
        yield one.start_s, one.end_s, "notify"
    elif terms.remote_bytes:
        moving = one.end_s - terms.remote_bytes * model.beta_s_per_byte
        opening = one.start_s + terms.rounds * model.alpha_s
        yield one.start_s, opening, "latency"
        yield opening, moving, "queue"
        yield moving, one.end_s, "remote"
    else:
        yield one.start_s, one.end_s, "combine" if terms.reduced_bytes else "copy"


def _tip(one: TimedEvent) -> str:
    region = getattr(one.event, "region", None) or getattr(one.event, "slot", None)
    what = "" if region is None else f" {format_region(region)}"
    peer = getattr(one.event, "peer", None)
    whose = "" if peer is None else f" of rank {peer}"
    step = f", {one.event.origin.step}" if one.event.origin.step else ""
    times = f"{format_seconds(one.start_s)} to {format_seconds(one.end_s)}"
    return f"{one.agent}: {event_kind(one.event)}{what}{whose}{step}, {times}"


def _arrows(replayed: Replay, rows: dict[int, float], scale: float) -> Iterator[Shape]:
    """From each notify to the wait that it let go, or that found it had come."""
    path = set(replayed.path)
    open_notifies: dict[tuple[int, str], list[int]] = defaultdict(list)
    for number, one in enumerate(replayed.events):
        if isinstance(one.event, Notify):
            key = one.event.peer, format_region(one.event.slot)
            open_notifies[key].append(number)
    for number, one in enumerate(replayed.events):
        if not isinstance(one.event, Wait) or one.agent.rank not in rows:
            continue
        key = one.agent.rank, format_region(one.event.slot)
        while open_notifies[key]:
            sent = replayed.events[open_notifies[key][0]]
            if sent.end_s > one.end_s:
                break
            on_path = number in path and one.cause == open_notifies[key][0]
            open_notifies[key].pop(0)
            if sent.agent.rank in rows and sent.agent.rank != one.agent.rank:
                yield _arrow(sent, one, rows, scale, on_path=on_path)


def _arrow(
    sent: TimedEvent,
    wait: TimedEvent,
    rows: dict[int, float],
    scale: float,
    *,
    on_path: bool,
) -> Shape:
    down = wait.agent.rank > sent.agent.rank
    return Curve(
        path=straight(
            _LEFT + sent.end_s * scale,
            rows[sent.agent.rank] + (_BAR if down else 0),
            _LEFT + wait.end_s * scale,
            rows[wait.agent.rank] + (0 if down else _BAR),
        ),
        style="arrow signal critical" if on_path else "arrow signal",
        tip=f"{sent.agent} notifies {wait.agent}",
    )


def _path(replayed: Replay, rows: dict[int, float], scale: float) -> Iterator[Shape]:
    for number in replayed.path:
        one = replayed.events[number]
        width = (one.end_s - one.start_s) * scale
        if one.agent.rank not in rows or isinstance(one.event, Wait):
            continue
        if width >= _THINNEST:
            x, y = _LEFT + one.start_s * scale, rows[one.agent.rank] + _BAR + 2
            yield Box(x=x, y=y, width=width, height=3, style="critical")
