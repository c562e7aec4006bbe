"""Whether everything that is touched is there, and is of the right type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from allreduce_gen.diagnostics import Diagnostic, codes, diagnose
from allreduce_gen.ir.events import (
    Combine,
    Event,
    Load,
    Notify,
    RemoteLoad,
    RemoteStore,
    Reshape,
    Scale,
    Store,
    Wait,
    event_kind,
)
from allreduce_gen.ir.memory import Region, View, format_region
from allreduce_gen.spec import DType

from .accesses import fits
from .analysis import Analysis
from .grouping import group
from .program import Point, Program


def check_bounds(analysis: Analysis) -> Iterator[Diagnostic]:
    """AR404, AR503, AR504 and AR505."""
    program = analysis.program
    touching = [
        (Point(number, at), event)
        for number, one in enumerate(program.agents)
        for at, event in enumerate(one.events)
        if isinstance(event, _Touching)
    ]
    yield from group(_check_places(program, touching))
    yield from group(_check_types(program))
    yield from group(_check_views(program, touching))


_Touching = Load | Store | RemoteLoad | RemoteStore | Notify | Wait
_Events: TypeAlias = list[tuple[Point, _Touching]]


def touched(event: _Touching) -> Region:
    """The region or slot that `event` touches."""
    return event.slot if isinstance(event, Notify | Wait) else event.region


def has_peer(event: Event, num_ranks: int) -> bool:
    """Whether `event` deals with a rank that exists."""
    if isinstance(event, RemoteLoad | RemoteStore | Notify):
        return 0 <= event.peer < num_ranks
    return True


def _check_places(program: Program, events: _Events) -> Iterator[Diagnostic]:
    num_ranks = program.trace.num_ranks
    for point, event in events:
        region = touched(event)
        if not has_peer(event, num_ranks):
            yield _report_peer(program, point, num_ranks)
        if not fits(region):
            yield _report_region(program, point, region)


def _check_types(program: Program) -> Iterator[Diagnostic]:
    for number, one in enumerate(program.agents):
        for at, event in enumerate(one.events):
            if (mismatch := describe_mismatch(event)) is not None:
                yield _report_mismatch(program, Point(number, at), mismatch)


def _report_peer(program: Program, point: Point, num_ranks: int) -> Diagnostic:
    event = program.event(point)
    assert isinstance(event, RemoteLoad | RemoteStore | Notify)
    return diagnose(
        codes.AR404,
        f"{event_kind(event)} of {program.name(point.agent)} names peer {event.peer}; "
        f"there are ranks 0 to {num_ranks - 1}",
        location=program.location(point),
        help="keep the peer in range: peer = (my_rank + step) % NUM_RANKS, counting up "
        "(% of a negative number is negative on the device)",
    )


def _report_region(program: Program, point: Point, region: Region) -> Diagnostic:
    event, view = program.event(point), region.view
    is_slot = isinstance(event, Notify | Wait)
    return diagnose(
        codes.AR404,
        f"{event_kind(event)} of {program.name(point.agent)} touches "
        f"{format_region(region)}, outside {view.name} of shape {list(view.shape)}",
        location=program.location(point),
        help="declare the signal with a row for each round and a column for each rank, "
        "and keep the offsets inside it"
        if is_slot
        else "keep offset + extent within the shape in every dimension",
    )


def describe_mismatch(event: Event) -> str | None:
    """What is of two element types where `event` wants one, or None."""
    match event:
        case Load(tile=tile) | RemoteLoad(tile=tile):
            return _differ("loads", event.region.view, tile.dtype)
        case Store(tile=tile) | RemoteStore(tile=tile):
            return _differ("stores to", event.region.view, tile.dtype)
        case Combine(tile=tile, left=left, right=right):
            if not (left.dtype is right.dtype is tile.dtype):
                names = [one.dtype.name for one in (left, right, tile)]
                return f"combines {names[0]} and {names[1]} into {names[2]}"
        case Scale(tile=tile, source=source) | Reshape(tile=tile, source=source):
            if tile.dtype is not source.dtype:
                return f"makes {tile.dtype.name} of {source.dtype.name}"
        case Notify() | Wait():
            if event.slot.view.dtype is not DType.INT32:
                name = event.slot.view.dtype.name
                return (
                    f"uses {event.slot.view.name}, which is {name}: signals are INT32"
                )
    return None


def _differ(verb: str, view: View, dtype: DType) -> str | None:
    if view.dtype is dtype:
        return None
    return (
        f"{verb} {view.name}, which is {view.dtype.name}, with a tile of {dtype.name}"
    )


def _report_mismatch(program: Program, point: Point, mismatch: str) -> Diagnostic:
    event = program.event(point)
    return diagnose(
        codes.AR505,
        f"{event_kind(event)} of {program.name(point.agent)} {mismatch}",
        location=program.location(point),
        help="declare the signal window with dtype=pl.INT32"
        if isinstance(event, Notify | Wait)
        else "give both the same element type, or put a pl.cast between them",
    )


def _check_views(program: Program, events: _Events) -> Iterator[Diagnostic]:
    """Views larger than their buffers, and signals smaller than the slots used."""
    ids: dict[int, View] = {}  # most events share the view of one before
    views: set[View] = set()
    slots: dict[View, tuple[Point, tuple[int, ...]]] = {}
    for point, event in events:
        region = touched(event)
        if id(region.view) not in ids:
            if region.view not in views:
                yield from _check_view(program, point, region.view)
            ids[id(region.view)] = region.view
            views.add(region.view)
        if isinstance(event, Notify | Wait) and not fits(region):
            _stretch(slots, point, region)
    for view, (point, shape) in slots.items():
        if any(used > has for used, has in zip(shape, view.shape, strict=True)):
            yield _report_small_signal(program, point, view, shape)


def _stretch(
    slots: dict[View, tuple[Point, tuple[int, ...]]], point: Point, slot: Region
) -> None:
    """Note that the signal would have to be large enough for `slot`."""
    if len(slot.offsets) != len(slot.view.shape):
        return
    first, shape = slots.get(slot.view, (point, slot.view.shape))
    pairs = zip(shape, slot.offsets, strict=True)
    slots[slot.view] = (first, tuple(max(has, at + 1) for has, at in pairs))


def _check_view(program: Program, point: Point, view: View) -> Iterator[Diagnostic]:
    needs = view.start + view.nbytes
    if needs > view.buffer.nbytes:
        yield diagnose(
            codes.AR503,
            f"{view.name} needs {needs} bytes, and its buffer {view.buffer.name} has "
            f"{view.buffer.nbytes}",
            location=program.location(point),
            help=f"allocate {needs} bytes: alloc_window_buffer takes bytes, or a shape "
            "with a dtype",
        )


def _report_small_signal(
    program: Program, point: Point, view: View, shape: tuple[int, ...]
) -> Diagnostic:
    return diagnose(
        codes.AR504,
        f"signal {view.name} has shape {list(view.shape)}, and slots up to "
        f"{[extent - 1 for extent in shape]} are used",
        location=program.location(point),
        help=f"declare it with shape {list(shape)}, window and buffer alike",
    )
