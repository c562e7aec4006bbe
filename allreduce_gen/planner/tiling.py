"""How much of a vector goes through the on-chip buffer at a time.

The compiler gives tiles memory in the order of their definition, reuses what a dead
tile leaves behind where the next one fits into it, and never gives any back. So a step
needs the sum of the tiles that are live in it at once, each at its full size.
"""

from __future__ import annotations

from dataclasses import dataclass

from allreduce_gen.ir.constants import Constant
from allreduce_gen.ir.expr import ONE, ZERO, Name
from allreduce_gen.ir.steps import Span
from allreduce_gen.spec import AllReduceSpec
from allreduce_gen.targets import PLATFORMS, accumulator, aligned_elems


def reduce_bytes(spec: AllReduceSpec) -> int:
    """Live bytes an element while contributions are combined.

    In the elements' own type: the accumulator and one contribution. In a wider one: the
    contribution as it came, the same widened, and the accumulator.
    """
    if accumulator(spec) is spec.dtype:
        return 2 * spec.dtype.nbytes
    return spec.dtype.nbytes + 2 * accumulator(spec).nbytes


def choose_tile(spec: AllReduceSpec, live_bytes: int) -> Constant:
    """TILE: `spec.tile`, or the largest power of two that fits `live_bytes` times.

    A power of two keeps tiles aligned; large ones keep the memory port busy.
    """
    fitting = PLATFORMS[spec.platform].ub_bytes // live_bytes
    elems = spec.tile or 1 << (fitting.bit_length() - 1)
    return Constant(
        name="TILE", value=elems, meaning="most elements in one load or store"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiling:
    """A span of elements and the constants that it is written with."""

    span: Span
    constants: tuple[Constant, ...] = ()


def split(length: Constant, tile: Constant, prefix: str = "") -> Tiling:
    """`length` elements as one tile where they fit, else full tiles and a tail.

    The constants are named `TILES` and `TAIL` after `prefix`.
    """
    if length.value <= tile.value:
        return Tiling(span=Span(tile=Name(length.name)))
    tiles, tail = _tiles_and_tail(length, tile, prefix)
    span = Span(
        tile=Name(tile.name),
        num_tiles=Name(tiles.name) if tiles.value > 1 else ONE,
        tail=Name(tail.name) if tail.value else ZERO,
    )
    return Tiling(span=span, constants=_used(tile, tiles, tail))


def split_exact(
    spec: AllReduceSpec, size: Constant, width: Constant, tile: Constant
) -> Tiling:
    """The whole vector, whose last tile may end within a 32-byte block.

    That tile is whole in the on-chip buffer, and only its first elements are loaded.
    """
    if size.value % aligned_elems(spec.dtype) == 0:
        return split(size, tile, prefix="STAGE_")
    if width.value <= tile.value:
        return Tiling(span=Span(tile=Name(width.name), cut=Name(size.name)))
    tiles, tail = _tiles_and_tail(size, tile, "STAGE_")
    if not tiles.value:
        span = Span(tile=Name(tile.name), cut=Name(size.name))
        return Tiling(span=span, constants=(tile,))
    span = Span(
        tile=Name(tile.name),
        num_tiles=Name(tiles.name) if tiles.value > 1 else ONE,
        tail=Name(tile.name),
        cut=Name(tail.name),
    )
    return Tiling(span=span, constants=_used(tile, tiles, tail))


def _tiles_and_tail(
    length: Constant, tile: Constant, prefix: str
) -> tuple[Constant, Constant]:
    tiles = Constant(
        name=f"{prefix}TILES",
        value=length.value // tile.value,
        meaning=f"full tiles in {length.name}",
    )
    tail = Constant(
        name=f"{prefix}TAIL",
        value=length.value % tile.value,
        meaning=f"elements of {length.name} after its full tile"
        f"{'s' if tiles.value > 1 else ''}",
    )
    return tiles, tail


def _used(tile: Constant, tiles: Constant, tail: Constant) -> tuple[Constant, ...]:
    loop = (tiles,) if tiles.value > 1 else ()
    rest = (tail,) if tail.value else ()
    return (tile, *loop, *rest)
