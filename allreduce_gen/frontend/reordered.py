"""What is said of a pl.pipeline loop whose order the compiler does not keep."""

from __future__ import annotations

from allreduce_gen.diagnostics import Location, Note, codes
from allreduce_gen.ir.events import Event, Origin, Store, event_kind
from allreduce_gen.ir.memory import format_region

from .accesses import Access
from .machine import Machine


def report_signal(
    machine: Machine, event: Event, loop: Origin, place: Origin, rank: int
) -> None:
    """AR308: a notify or a wait in the pipelined `loop`, made by the line `place`."""
    machine.find(
        codes.AR308,
        f"a {event_kind(event)} stands inside pl.pipeline, which moves loads up and "
        "stores down without regard to signals",
        help="use pl.range for loops that notify or wait",
        file=place.file or "",
        line=place.line or 0,
        rank=rank,
        notes=(_note("loop", "pl.pipeline", loop),),
    )


def report_swap(
    machine: Machine,
    first: Access,
    second: Access,
    loop: Origin,
    place: Origin,
    rank: int,
) -> None:
    """AR312: `second`, made by the line `place`, may move above `first`."""
    what, before = event_kind(second.event), event_kind(first.event)
    machine.find(
        codes.AR312,
        f"in pl.pipeline, the {what} of {format_region(second.event.region)} may move "
        f"above the {before} before it: both touch the same bytes, and no name or tile "
        "goes from one to the other",
        help=_what_to_do(first),
        file=place.file or "",
        line=place.line or 0,
        rank=rank,
        notes=(
            _note("before it", before, first.event.origin),
            _note("loop", "pl.pipeline", loop),
        ),
    )


def _what_to_do(first: Access) -> str:
    """Only a store has a result to go on from."""
    if isinstance(first.event, Store):
        return (
            "bind what the store gives, as in `data = pl.store(tile, offsets, data)`, "
            "and go on from that name; or use pl.range"
        )
    return "use pl.range, or two loops"


def _note(label: str, text: str, origin: Origin) -> Note:
    location = Location(file=origin.file, line=origin.line)
    return Note(label=label, text=text, location=location)
