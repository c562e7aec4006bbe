"""Recursive doubling: in every round, pairs exchange all they have.

    rank 0   stage | + 1 | + 2 | out
    rank 1   stage | + 0 | + 3 | out
    rank 2   stage | + 3 | + 0 | out
    rank 3   stage | + 2 | + 1 | out

log2 P rounds, each with one handshake between the two ranks of a pair, and a vector of
remote bytes a round. Both ranks of a pair combine the same two values, the lower rank's
first, so every rank gets the same bits, also of -0.0 and 0.0 or of two NaNs. A partner
may still be reading what was exchanged in the last round, so each round writes a row of
its own: the window holds log2 P + 1 vectors. No pair meets twice: all rounds use one
signal row.

Numbers of ranks that are no power of two are folded to the next one below.
"""

from __future__ import annotations

from allreduce_gen.ir.constants import Constant
from allreduce_gen.ir.expr import MY_RANK, ONE, ZERO, Expr, Name
from allreduce_gen.ir.plan import Plan
from allreduce_gen.ir.steps import Binding, Block, OnePeer, Phase, Place, Step
from allreduce_gen.spec import AllReduceSpec
from allreduce_gen.targets import accumulator

from .assembling import assemble
from .barriers import exit_rows, make_exit
from .folding import Fold, power_below
from .grids import Grid, lay_grid
from .handshakes import shake_hands
from .reducing import combine_partials
from .rows import allot_rows
from .staging import exchange_bytes, stage_in, stage_out

_DISTANCE, _BIT, _PARTNER = Name("distance"), Name("bit"), Name("partner")
_LOWER, _UPPER = Name("lower"), Name("upper")
_STEP, _ROUNDS, _ROW = Name("step"), Name("ROUNDS"), Name("ROW_PAIRED")


def plan_recursive_doubling(spec: AllReduceSpec) -> Plan:
    """Stage in; exchange with every partner in turn; stage out."""
    grid = lay_grid(spec, 1, exchange_bytes(spec))
    fold = Fold(spec=spec, core=power_below(spec.num_ranks), grid=grid)
    rounds = Constant(name="ROUNDS", value=fold.core.bit_length() - 1)
    vectors = Constant(
        name="VECTORS",
        value=rounds.value + 1,
        meaning="the input, and one for each round's result",
    )
    rows = allot_rows(paired=1, **fold.rows, **exit_rows(spec))
    exit_barrier = make_exit(spec, rows)
    steps = (
        stage_in(spec, grid),
        *fold.around((_exchange(spec, grid),), result_row=_ROUNDS),
        *exit_barrier.steps,
        stage_out(spec, grid, row=_ROUNDS),
    )
    return assemble(
        spec,
        steps,
        rows=rows,
        windows=(grid.window("data", accumulator(spec), Name("VECTORS")),),
        constants=(
            *grid.constants,
            *fold.constants,
            rounds,
            vectors,
            *exit_barrier.constants,
        ),
    )


def _exchange(spec: AllReduceSpec, grid: Grid) -> Step:
    """Partners are those whose numbers differ in one bit: without an xor operator."""
    return Block(
        name="exchange_rounds",
        phase=Phase.EXCHANGE,
        rounds=_ROUNDS,
        var=_STEP.name,
        bindings=(
            Binding(name="distance", value=ONE << _STEP),
            Binding(name="bit", value=MY_RANK // _DISTANCE % 2),
            Binding(name="lower", value=MY_RANK - _DISTANCE * _BIT),
            Binding(name="upper", value=_LOWER + _DISTANCE),
            Binding(name="partner", value=_LOWER + _UPPER - MY_RANK),
        ),
        body=(
            *shake_hands(spec, "paired", _ROW, to=_PARTNER, source=_PARTNER),
            combine_partials(
                spec,
                "exchange",
                Phase.EXCHANGE,
                own=_vector(_STEP, _LOWER),
                contribution=_vector(_STEP, _UPPER),
                target=_vector(_STEP + 1),
                span=grid.span(),
                peers=OnePeer(peer=_UPPER),
            ),
        ),
    )


def _vector(row: Expr, peer: Expr | None = None) -> Place:
    return Place(window="data", at=ZERO, row=row, peer=peer)
