"""How much of a vector goes through the on-chip buffer at a time."""

from __future__ import annotations

from dataclasses import dataclass

from allreduce_gen.ir.expr import ONE, ZERO, Name
from allreduce_gen.ir.plan import Constant
from allreduce_gen.ir.steps import Span
from allreduce_gen.spec import AllReduceSpec
from allreduce_gen.targets import PLATFORMS


def choose_tile(spec: AllReduceSpec, live_tiles: int) -> int:
    """Elements of the largest power-of-two tile of which `live_tiles` fit at once.

    A power of two keeps tiles aligned; large ones keep the memory port busy.
    """
    budget = PLATFORMS[spec.platform].ub_bytes // (live_tiles * spec.dtype.nbytes)
    return 1 << (budget.bit_length() - 1)


def tile_constant(elems: int) -> Constant:
    """The module constant TILE."""
    return Constant(
        name="TILE", value=elems, meaning="elements in one load or store of a loop"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiling:
    """A span of elements and the constants that it is written with."""

    span: Span
    constants: tuple[Constant, ...]


def split(length: Constant, tile: int, prefix: str = "") -> Tiling:
    """`length` elements as one tile where they fit, else full tiles and a tail.

    The constants are named `TILES` and `TAIL` after `prefix`.
    """
    if length.value <= tile:
        return Tiling(span=Span(tile=Name(length.name)), constants=())
    count = length.value // tile
    tiles = Constant(
        name=f"{prefix}TILES",
        value=count,
        meaning=f"full tiles in {length.name}",
    )
    tail = Constant(
        name=f"{prefix}TAIL",
        value=length.value % tile,
        meaning="elements in the shorter tile after them",
    )
    span = Span(
        tile=Name("TILE"),
        num_tiles=Name(tiles.name) if count > 1 else ONE,
        tail=Name(tail.name) if tail.value else ZERO,
    )
    used = (*((tiles,) if count > 1 else ()), *((tail,) if tail.value else ()))
    return Tiling(span=span, constants=used)
