"""Binomial tree: partial results go down to rank 0, the result comes up again.

    rank 0   stage | +1 | +2 | to 2 | to 1 | out
    rank 1   stage | to 0 |        | from 0 | out
    rank 2   stage | +3 | to 0 | from 0 | to 3 | out
    rank 3   stage | to 2 |        | from 2 | out

ceil(log2 P) rounds each way, for any number of ranks, and P-1 handshakes each way in
all. Rank 0 reads ceil(log2 P) vectors, the others fewer: right for few elements. One
rank combines last, so every rank gets the same bits. All is done in place: a rank's
partial result is written over only when its parent, which has read it, says that the
result is there. A rank has one parent, so each way has one signal row.
"""

from __future__ import annotations

from allreduce_gen.ir.constants import Constant
from allreduce_gen.ir.expr import MY_RANK, NUM_RANKS, ONE, ZERO, Const, Expr, Name
from allreduce_gen.ir.plan import Plan
from allreduce_gen.ir.steps import Binding, Block, Move, OnePeer, Phase, Place, Step
from allreduce_gen.spec import AllReduceSpec
from allreduce_gen.targets import accumulator

from .assembling import assemble
from .barriers import exit_rows, make_exit
from .grids import Grid, lay_grid
from .handshakes import notify_one, wait_for_one
from .reducing import combine_partials
from .rows import allot_rows
from .staging import exchange_bytes, stage_in, stage_out

_STEP, _DISTANCE, _PLACE = Name("step"), Name("distance"), Name("place")
_PARENT, _CHILD = MY_RANK - _DISTANCE, MY_RANK + _DISTANCE
_IS_CHILD, _IS_PARENT = _PLACE.equals(_DISTANCE), _PLACE.equals(0)
_HERE = Place(window="data", at=ZERO)


def plan_tree(spec: AllReduceSpec) -> Plan:
    """Stage in; reduce to rank 0; broadcast from it; stage out."""
    grid = lay_grid(spec, 1, exchange_bytes(spec))
    rows = allot_rows(reduce=1, broadcast=1, **exit_rows(spec))
    exit_barrier = make_exit(spec, rows)
    steps = (
        stage_in(spec, grid),
        _rounds("reduce", ONE << _STEP, _reduce(spec, grid)),
        _rounds(
            "broadcast", ONE << (Name("ROUNDS") - 1 - _STEP), _broadcast(spec, grid)
        ),
        *exit_barrier.steps,
        stage_out(spec, grid),
    )
    depth = (spec.num_ranks - 1).bit_length()
    return assemble(
        spec,
        steps,
        rows=rows,
        windows=(grid.window("data", accumulator(spec)),),
        constants=(
            *grid.constants,
            Constant(name="ROUNDS", value=depth),
            *exit_barrier.constants,
        ),
    )


def _rounds(name: str, distance: Expr, body: tuple[Step, ...]) -> Block:
    return Block(
        name=f"{name}_rounds",
        phase=body[0].phase,
        rounds=Name("ROUNDS"),
        var=_STEP.name,
        bindings=(
            Binding(name="distance", value=distance),
            Binding(name="place", value=MY_RANK % (Const(2) * _DISTANCE)),
        ),
        body=body,
    )


def _reduce(spec: AllReduceSpec, grid: Grid) -> tuple[Step, ...]:
    """A child tells its parent, which adds what the child has."""
    row = Name("ROW_REDUCE")
    add = combine_partials(
        spec,
        "add_child",
        Phase.REDUCE,
        own=_HERE,
        contribution=Place(window="data", at=ZERO, peer=_CHILD),
        target=_HERE,
        span=grid.span(),
        peers=OnePeer(peer=_CHILD),
    )
    return (
        notify_one("reduce", row, _PARENT, guard=_IS_CHILD),
        _of_parents(spec, "reduce", (*wait_for_one(spec, "reduce", row, _CHILD), add)),
    )


def _broadcast(spec: AllReduceSpec, grid: Grid) -> tuple[Step, ...]:
    """A parent tells its child, which takes over the result."""
    row = Name("ROW_BROADCAST")
    take = Move(
        name="take_result",
        phase=Phase.BROADCAST,
        source=Place(window="data", at=ZERO, peer=_PARENT),
        target=_HERE,
        span=grid.span(),
        tile_name="result",
    )
    return (
        Block(
            name="broadcast_to_child",
            phase=Phase.BROADCAST,
            guard=_IS_CHILD,
            body=(*wait_for_one(spec, "broadcast", row, _PARENT), take),
        ),
        _of_parents(spec, "broadcast", (notify_one("broadcast", row, _CHILD),)),
    )


def _of_parents(spec: AllReduceSpec, name: str, body: tuple[Step, ...]) -> Step:
    """What ranks with a child in this round do: all of them at powers of two."""
    is_full = spec.num_ranks & (spec.num_ranks - 1) == 0
    has_child = Block(
        name=f"{name}_child", phase=body[0].phase, guard=_CHILD < NUM_RANKS, body=body
    )
    return Block(
        name=f"{name}_parents",
        phase=body[0].phase,
        guard=_IS_PARENT,
        body=body if is_full else (has_child,),
    )
