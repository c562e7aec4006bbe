"""One rank: its own elements are the result.

    rank 0   x -> y

No window, no signal, no barrier.
"""

from __future__ import annotations

from dataclasses import replace

from allreduce_gen.ir.expr import ZERO, Name
from allreduce_gen.ir.plan import Plan
from allreduce_gen.ir.steps import Move, Phase, Place
from allreduce_gen.spec import AllReduceSpec

from .assembling import assemble
from .chunking import cut
from .tiling import choose_tile, split_exact


def plan_identity(spec: AllReduceSpec) -> Plan:
    """Copy x to y."""
    whole = cut(spec, 1)
    padded = replace(whole.width, meaning="elements of the tile: whole 32-byte blocks")
    tile = choose_tile(spec, live_bytes=spec.dtype.nbytes)
    tiling = split_exact(spec, whole.size, whole.width, tile)
    copy = Move(
        name="copy",
        phase=Phase.STAGE_OUT,
        source=Place(window="x", at=ZERO),
        target=Place(window="y", at=ZERO),
        span=tiling.span,
        tile_name="own",
    )
    is_padded = whole.is_ragged and tiling.span.tile == Name(padded.name)
    return assemble(
        spec,
        (copy,),
        rows=(),
        windows=(),
        constants=(
            whole.size,
            *((padded,) if is_padded else ()),
            *tiling.constants,
        ),
    )
