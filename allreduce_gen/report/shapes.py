"""What a picture is made of: plain shapes with coordinates, which a template prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A rectangle; `tip` is what a pointer over it shows, `text` stands in it."""

    x: float
    y: float
    width: float
    height: float
    style: str
    tip: str = ""
    text: str = ""
    kind: str = "box"


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A line along an SVG path."""

    path: str
    style: str
    tip: str = ""
    kind: str = "curve"


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A word at a point; `style` says how it is aligned."""

    x: float
    y: float
    text: str
    style: str = "label"
    kind: str = "label"


Shape: TypeAlias = Box | Curve | Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Shapes on a canvas, later ones on top; `note` says what is left out."""

    width: float
    height: float
    shapes: tuple[Shape, ...]
    note: str = ""


def bend(x: float, y: float, to_x: float, to_y: float) -> str:
    """The path of a curve from one point to another that leaves and arrives level."""
    reach = max((to_x - x) / 2, 18.0)
    return (
        f"M {x:.1f} {y:.1f} C {x + reach:.1f} {y:.1f} "
        f"{to_x - reach:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"
    )


def straight(x: float, y: float, to_x: float, to_y: float) -> str:
    """The path of a straight line."""
    return f"M {x:.1f} {y:.1f} L {to_x:.1f} {to_y:.1f}"


def list_ranks(num_ranks: int, most: int) -> tuple[tuple[int, ...], str]:
    """The ranks that are drawn, and a note where that is not all of them."""
    if num_ranks <= most:
        return tuple(range(num_ranks)), ""
    return tuple(range(most)), f"The first {most} of {num_ranks} ranks are drawn."
