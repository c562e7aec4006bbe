"""One rank: its own elements are the result.

    rank 0   x -> y

No window, no signal, no barrier.
"""

from __future__ import annotations

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
    padded = (whole.width,) if tiling.span.tile == Name(whole.width.name) else ()
    return assemble(
        spec,
        (copy,),
        rows=(),
        windows=(),
        constants=(whole.size, *padded, *tiling.constants),
    )
