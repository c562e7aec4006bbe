"""Which rank owns which part of the vector.

Sizes that divide into whole 32-byte blocks are cut evenly:

    | chunk 0 | chunk 1 | chunk 2 | chunk 3 |            SIZE = 4 x CHUNK

Others get chunks rounded up to whole blocks. Windows are padded to the last chunk's
end; the last chunk with elements may be short, and ranks after it own nothing:

    | chunk 0 | chunk 1 | chunk 2.. | (nothing) |        SIZE < 4 x CHUNK = PADDED
"""

from __future__ import annotations

from dataclasses import dataclass

from allreduce_gen.ir.constants import Constant
from allreduce_gen.ir.expr import Name
from allreduce_gen.spec import AllReduceSpec
from allreduce_gen.targets import aligned_elems


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunking:
    """The cut of a vector into `parts` chunks of `chunk` elements."""

    size: Constant
    chunk: Constant
    parts: int

    @property
    def is_ragged(self) -> bool:
        """Whether the chunks together are longer than the vector."""
        return self.parts * self.chunk.value != self.size.value

    @property
    def has_idle_owners(self) -> bool:
        """Whether some rank's chunk holds no element."""
        return (self.parts - 1) * self.chunk.value >= self.size.value

    def has_empty_tiles(self, tile: Constant) -> bool:
        """Whether some chunk has a whole tile or tail without an element."""
        last = (self.chunk.value - 1) // tile.value * tile.value
        return (self.parts - 1) * self.chunk.value + last >= self.size.value

    @property
    def width(self) -> Constant:
        """Elements of a window that holds every chunk whole."""
        if not self.is_ragged:
            return self.size
        return Constant(
            name="PADDED",
            value=self.parts * self.chunk.value,
            meaning="elements of a window: every chunk whole",
        )

    @property
    def limit(self) -> Name | None:
        """Where elements end, where that is before the chunks do."""
        return Name(self.size.name) if self.is_ragged else None

    @property
    def constants(self) -> tuple[Constant, ...]:
        padded = (self.width,) if self.is_ragged else ()
        return (self.size, self.chunk, *padded)


def cut(spec: AllReduceSpec, parts: int) -> Chunking:
    """The vector of `spec` in `parts` chunks."""
    block = aligned_elems(spec.dtype)
    chunk = -(-spec.size // (parts * block)) * block
    return Chunking(
        size=Constant(name="SIZE", value=spec.size),
        chunk=Constant(name="CHUNK", value=chunk),
        parts=parts,
    )
