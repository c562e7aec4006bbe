"""A vector in chunks of whole tiles, for kernels that work on it in a window.

    | chunk 0            | chunk 1            |         PADDED = 2 x CHUNK
    | TILE   | TILE      | TILE   | TILE      |         CHUNK = TILES x TILE

Chunks are cut evenly, so that there is no tail: what is left over is padding at the end
of the window, less than one 32-byte block a tile. Consecutive chunks are one span.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from allreduce_gen.ir.constants import Constant
from allreduce_gen.ir.expr import ONE, Const, Expr, Name
from allreduce_gen.ir.pieces import cut_span
from allreduce_gen.ir.plan import Window
from allreduce_gen.ir.steps import Span
from allreduce_gen.spec import AllReduceSpec, DType, Transfer
from allreduce_gen.targets import aligned_elems

from .tiling import Tiling, choose_tile, reduce_bytes, split_exact


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """`parts` chunks of `chunk` elements; `tile` and `tiles` where one tile is not one.

    `staging` is the vector without padding, for the moves between it and a window.
    """

    size: Constant
    chunk: Constant
    width: Constant
    parts: int
    tile: Constant | None
    tiles: Constant | None
    staging: Tiling

    @property
    def is_ragged(self) -> bool:
        """Whether the window is longer than the vector."""
        return self.width.value != self.size.value

    @property
    def has_empty_chunks(self) -> bool:
        """Whether some chunk holds no element."""
        return (self.parts - 1) * self.chunk.value >= self.size.value

    def span(self, chunks: Expr = ONE, *, limited: bool = False) -> Span:
        """`chunks` consecutive chunks; where `limited`, only what the vector holds."""
        tile, tiles = self.chunk, chunks
        if self.tile is not None and self.tiles is not None:
            tile, tiles = self.tile, chunks * Name(self.tiles.name)
        return Span(
            tile=Name(tile.name),
            num_tiles=tiles,
            limit=Name(self.size.name) if limited and self.is_ragged else None,
            may_be_empty=self.width.value - tile.value >= self.size.value,
        )

    def holds_elements(self, start: Expr) -> Expr | None:
        """The guard of what is done to the chunk at `start`, where some are empty."""
        return start < Name(self.size.name) if self.has_empty_chunks else None

    def window(self, name: str, dtype: DType, rows: Expr = ONE) -> Window:
        """A window of `rows` vectors."""
        return Window(name=name, rows=rows, width=Name(self.width.name), dtype=dtype)

    @property
    def constants(self) -> tuple[Constant, ...]:
        tiles = tuple(one for one in (self.tile, self.tiles) if one is not None)
        named = (self.size, self.chunk, self.width, *tiles)
        return tuple(dict.fromkeys((*named, *self.staging.constants)))


def lay_grid(
    spec: AllReduceSpec, parts: int, live_bytes: int, *, chunk_name: str = "CHUNK"
) -> Grid:
    """The vector of `spec` in `parts` chunks, of tiles that fit `live_bytes` times."""
    most = choose_tile(spec, live_bytes)
    part = -(-spec.size // parts)
    count = max(-(-part // most.value), 1)
    elems = most.value if spec.tile and count > 1 else _even(spec, part, count)
    if parts > 1:
        padded = f"elements of a window: every {chunk_name.lower()} whole"
        width = _width(spec, parts * count * elems, padded)
        chunk = Constant(name=chunk_name, value=count * elems)
    else:
        what = "every tile whole" if count > 1 else "whole 32-byte blocks"
        width = chunk = _width(
            spec, count * elems, f"elements of a window's row: {what}"
        )
    size = Constant(name="SIZE", value=spec.size)
    tile = replace(most, value=elems) if count > 1 else None
    tiles = _tiles(chunk, count) if tile else None
    if tile and tiles and chunk == size:
        staging = _whole(tile, tiles)
    else:
        staged = tile or replace(most, name="STAGE_TILE")
        staging = split_exact(spec, size, width, staged)
    return Grid(
        size=size,
        chunk=chunk,
        width=width,
        parts=parts,
        tile=tile,
        tiles=tiles,
        staging=staging,
    )


def mesh_elems(spec: AllReduceSpec) -> int:
    """Elements that a mesh of `spec` moves between two ranks.

    Reading takes the vector's last tile whole, writing leaves its padding out.
    """
    if spec.transfer is Transfer.PUSH:
        return spec.size
    grid = lay_grid(spec, 1, reduce_bytes(spec))
    env = {one.name: one.value for one in grid.constants}
    pieces = cut_span(grid.staging.span, 0, env)
    return sum(one.count * one.elems for one in pieces)


def _even(spec: AllReduceSpec, part: int, count: int) -> int:
    """Elements of each of `count` tiles that hold `part` together, in whole blocks."""
    block = aligned_elems(spec.dtype)
    return -(-part // (count * block)) * block


def _width(spec: AllReduceSpec, elems: int, meaning: str) -> Constant:
    if elems == spec.size:
        return Constant(name="SIZE", value=spec.size)
    return Constant(name="PADDED", value=elems, meaning=meaning)


def _whole(tile: Constant, tiles: Constant) -> Tiling:
    """A vector that is one chunk without padding: staged as it is exchanged."""
    span = Span(tile=Name(tile.name), num_tiles=Name(tiles.name))
    return Tiling(span=span, constants=(tile, tiles))


def _tiles(chunk: Constant, count: int) -> Constant:
    return Constant(name="TILES", value=count, meaning=f"tiles in {chunk.name}")


def chunk_at(grid: Grid, index: Expr) -> Expr:
    """Where chunk `index` starts."""
    return index * Name(grid.chunk.name) if grid.parts > 1 else Const(0)
