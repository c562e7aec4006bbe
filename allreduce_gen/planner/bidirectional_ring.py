"""Bidirectional ring: half of each chunk travels to the right, half to the left.

    rank 0   stage | +l3 from 3, +r1 from 1 | +l2, +r2 | +l1, +r3 | l0 from 3 ... | out
    rank 1   stage | +l0 from 0, +r2 from 2 | +l3, +r3 | +l2, +r0 | l1 from 0 ... | out
    rank 2   stage | +l1 from 1, +r3 from 3 | +l0, +r0 | +l3, +r1 | l2 from 1 ... | out
    rank 3   stage | +l2 from 2, +r0 from 0 | +l1, +r1 | +l0, +r2 | l3 from 2 ... | out

The halves l come from the left neighbour, the halves r from the right one. Each is a
ring as in ring.py, with half the bytes: where links to the two neighbours work at the
same time, in half the time. Rounds and remote bytes are a ring's, handshakes are twice
as many. The directions have signal rows of their own, for two ranks are each other's
left and right neighbour.
"""

from __future__ import annotations

from allreduce_gen.ir.expr import MY_RANK, NUM_RANKS, Const, Expr, Name
from allreduce_gen.ir.plan import Plan
from allreduce_gen.ir.steps import Binding, Block, Phase, Step
from allreduce_gen.spec import AllReduceSpec, Reuse
from allreduce_gen.targets import accumulator

from .assembling import assemble
from .grids import Grid, lay_grid
from .handshakes import notify_one, wait_for_one
from .ring import LEFT, NEIGHBOURS, RIGHT, ROUNDS, STEP, read_chunk
from .rows import allot_rows
from .staging import exchange_bytes, stage_in, stage_out

_TWO, _HALF = Const(2), Name("HALF")


def plan_bidirectional_ring(spec: AllReduceSpec) -> Plan:
    """Stage in; P-1 rounds that add; P-1 rounds that pass on; stage out."""
    grid = lay_grid(spec, 2 * spec.num_ranks, exchange_bytes(spec), chunk_name="HALF")
    rounds = 2 * (spec.num_ranks - 1)
    persists = {"done": 2} if spec.reuse is not Reuse.ONCE else {}
    rows = allot_rows(right=rounds, left=rounds, **persists)
    steps = (
        stage_in(spec, grid),
        _rounds(spec, grid, Phase.REDUCE_SCATTER, STEP, STEP + 1),
        _rounds(spec, grid, Phase.ALL_GATHER, ROUNDS + STEP, STEP),
        *(_done(spec) if persists else ()),
        stage_out(spec, grid),
    )
    return assemble(
        spec,
        steps,
        rows=rows,
        windows=(grid.window("data", accumulator(spec)),),
        constants=grid.constants,
        bindings=NEIGHBOURS,
    )


def _rounds(
    spec: AllReduceSpec, grid: Grid, phase: Phase, row: Expr, back: Expr
) -> Block:
    """P-1 rounds, from row `row` on: the chunks `back` places back, and on."""
    name = "reduce" if phase is Phase.REDUCE_SCATTER else "gather"
    to_right, to_left = Name("ROW_RIGHT") + row, Name("ROW_LEFT") + row
    lower, upper = Name("lower"), Name("upper")
    behind = (MY_RANK + ROUNDS * back) % NUM_RANKS
    ahead = (MY_RANK + back) % NUM_RANKS
    return Block(
        name=f"{name}_rounds",
        phase=phase,
        rounds=ROUNDS,
        var=STEP.name,
        bindings=(
            Binding(name="behind", value=behind),
            Binding(name="ahead", value=ahead),
            Binding(name="lower", value=_TWO * Name("behind") * _HALF),
            Binding(name="upper", value=(_TWO * Name("ahead") + 1) * _HALF),
        ),
        body=(
            notify_one(f"{name}_right", to_right, RIGHT),
            notify_one(f"{name}_left", to_left, LEFT),
            # Both waits before both reads: one latency a round, not two.
            *wait_for_one(spec, f"{name}_right", to_right, LEFT),
            *wait_for_one(spec, f"{name}_left", to_left, RIGHT),
            read_chunk(spec, grid, phase, LEFT, lower),
            read_chunk(spec, grid, phase, RIGHT, upper),
        ),
    )


def _done(spec: AllReduceSpec) -> tuple[Step, ...]:
    """Both neighbours, who read from this rank, have made their last read."""
    to_right, to_left = Name("ROW_DONE"), Name("ROW_DONE") + 1
    return (
        notify_one("done_right", to_right, RIGHT),
        notify_one("done_left", to_left, LEFT),
        *wait_for_one(spec, "done_right", to_right, LEFT),
        *wait_for_one(spec, "done_left", to_left, RIGHT),
    )
