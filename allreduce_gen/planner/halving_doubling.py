"""Halving-doubling (Rabenseifner): pairs exchange halves of halves, then put them back.

    rank 0   stage | +c0 c1 from 2 | +c0 from 1 | c1 from 1 | c2 c3 from 2 | out
    rank 1   stage | +c0 c1 from 3 | +c1 from 0 | c0 from 0 | c2 c3 from 3 | out
    rank 2   stage | +c2 c3 from 0 | +c2 from 3 | c3 from 3 | c0 c1 from 0 | out
    rank 3   stage | +c2 c3 from 1 | +c3 from 2 | c2 from 2 | c0 c1 from 1 | out

2 log2 P rounds, each with one handshake between the two ranks of a pair, and the least
remote bytes that there are: 2(P-1)/P of the vector. A chunk has one owner in the end,
so every rank gets the same bits. All is done in place: what a rank writes in the second
half its partner has read in the first one, before it came to the handshake. A pair
meets once in each half, so each half has one signal row.

Numbers of ranks that are no power of two are folded to the next one below.
"""

from __future__ import annotations

from allreduce_gen.ir.constants import Constant
from allreduce_gen.ir.expr import MY_RANK, ONE, Const, Expr, Name
from allreduce_gen.ir.plan import Plan
from allreduce_gen.ir.steps import Binding, Block, Move, OnePeer, Phase, Place, Step
from allreduce_gen.spec import AllReduceSpec
from allreduce_gen.targets import accumulator

from .assembling import assemble
from .barriers import exit_rows, make_exit
from .folding import Fold, power_below
from .grids import Grid, chunk_at, lay_grid
from .handshakes import shake_hands
from .reducing import combine_partials
from .rows import allot_rows
from .staging import exchange_bytes, stage_in, stage_out

_STEP, _DISTANCE, _BIT = Name("step"), Name("distance"), Name("bit")
_PARTNER, _START, _ROUNDS = Name("partner"), Name("start"), Name("ROUNDS")


def plan_halving_doubling(spec: AllReduceSpec) -> Plan:
    """Stage in; halve what is combined; double what is gathered; stage out."""
    core = power_below(spec.num_ranks)
    grid = lay_grid(spec, core, exchange_bytes(spec))
    fold = Fold(spec=spec, core=core, grid=grid)
    rows = allot_rows(halve=1, double=1, **fold.rows, **exit_rows(spec))
    exit_barrier = make_exit(spec, rows)
    steps = (
        stage_in(spec, grid),
        *fold.around((_halve(spec, grid, fold.size), _double(spec, grid))),
        *exit_barrier.steps,
        stage_out(spec, grid),
    )
    return assemble(
        spec,
        steps,
        rows=rows,
        windows=(grid.window("data", accumulator(spec)),),
        constants=(
            *grid.constants,
            *fold.constants,
            Constant(name="ROUNDS", value=core.bit_length() - 1),
            *exit_barrier.constants,
        ),
    )


def _halve(spec: AllReduceSpec, grid: Grid, core: Expr) -> Step:
    """Combine the half of what is left that this rank's chunk is in."""
    here = Place(window="data", at=_START)
    return _rounds(
        spec,
        grid,
        "halve",
        core >> (_STEP + 1),
        chunks_of=MY_RANK,
        transfer=combine_partials(
            spec,
            "reduce_scatter",
            Phase.REDUCE_SCATTER,
            own=here,
            contribution=Place(window="data", at=_START, peer=_PARTNER),
            target=here,
            span=grid.span(_DISTANCE),
            peers=OnePeer(peer=_PARTNER),
        ),
    )


def _double(spec: AllReduceSpec, grid: Grid) -> Step:
    """Take over what the partner has, which is as much again."""
    return _rounds(
        spec,
        grid,
        "double",
        ONE << _STEP,
        chunks_of=_PARTNER,
        transfer=Move(
            name="all_gather",
            phase=Phase.ALL_GATHER,
            source=Place(window="data", at=_START, peer=_PARTNER),
            target=Place(window="data", at=_START),
            span=grid.span(_DISTANCE),
            tile_name="reduced",
        ),
    )


def _rounds(
    spec: AllReduceSpec,
    grid: Grid,
    name: str,
    distance: Expr,
    *,
    chunks_of: Expr,
    transfer: Step,
) -> Step:
    """Rounds of pairs `distance` apart; `chunks_of` is whose half of chunks is moved.

    Of 2 x distance ranks with one half of the chunks each, the lower ones have the
    lower half. Partners are found without an xor operator.
    """
    first = chunks_of // _DISTANCE * _DISTANCE
    return Block(
        name=f"{name}_rounds",
        phase=transfer.phase,
        rounds=_ROUNDS,
        var=_STEP.name,
        bindings=(
            Binding(name="distance", value=distance),
            Binding(name="bit", value=MY_RANK // _DISTANCE % 2),
            Binding(
                name="partner", value=MY_RANK + _DISTANCE - Const(2) * _DISTANCE * _BIT
            ),
            Binding(name="start", value=chunk_at(grid, first)),
        ),
        body=(
            *shake_hands(
                spec, name, Name(f"ROW_{name.upper()}"), to=_PARTNER, source=_PARTNER
            ),
            transfer,
        ),
    )
