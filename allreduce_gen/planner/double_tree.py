"""Double tree: two binary trees, each for one half of the vector (Sanders et al. 2009).

A rank that has children in one tree is a leaf of the other, so that none is idle and
none reads more than three halves or so each way. The second tree is the first with
every rank one place further on. Four ranks, lower half and upper half:

    0              3
     2              1            rank 0   lower +2         | upper to 1
    1 3            0 2           rank 1   lower to 2       | upper +0 +2 to 3
                                 rank 2   lower +1 +3 to 0 | upper to 1
                                 rank 3   lower to 2       | upper +1

Each half goes in BLOCKS blocks, one after another: while a rank passes one on, its
children are at the next. Their number is fixed, so handshakes do not grow with the
vector; each block of each tree has a signal row each way. Roots combine last, so every
rank gets the same bits. In place, as in tree.py.

A place that is an odd multiple of d is d away from its parent: on, where that is an odd
multiple of 2d and exists, else back.
"""

from __future__ import annotations

from collections.abc import Callable

from allreduce_gen.ir.constants import Constant
from allreduce_gen.ir.expr import MY_RANK, NUM_RANKS, ONE, Const, Expr, Minimum, Name
from allreduce_gen.ir.plan import Plan
from allreduce_gen.ir.steps import Binding, Block, Move, OnePeer, Phase, Place, Step
from allreduce_gen.spec import AllReduceSpec
from allreduce_gen.targets import accumulator

from .assembling import assemble
from .barriers import exit_rows, make_exit
from .grids import Grid, chunk_at, lay_grid
from .handshakes import notify_one, wait_for_one
from .reducing import combine_partials
from .rows import allot_rows
from .staging import exchange_bytes, stage_in, stage_out

NUM_BLOCKS = 4
"""Blocks of each half: more overlap more of the trees' depth, and notify more often."""

_BLOCKS, _ROUNDS, _TWO = Name("BLOCKS"), Name("ROUNDS"), Const(2)
_BLOCK, _TREE, _STEP = Name("block"), Name("tree"), Name("step")
_PART, _START, _PLACE = Name("part"), Name("start"), Name("place")
_DISTANCE, _ODD = Name("distance"), Name("odd")
_PARENT, _LEFT, _RIGHT = Name("parent"), Name("left"), Name("right")

_Act = Callable[[str, Name], tuple[Step, ...]]
"""What is done with the named relative: the steps, named after it."""


def plan_double_tree(spec: AllReduceSpec) -> Plan:
    """Stage in; reduce to the two roots; broadcast from them; stage out."""
    grid = lay_grid(spec, 2 * NUM_BLOCKS, exchange_bytes(spec), chunk_name="BLOCK")
    parts = 2 * NUM_BLOCKS
    rows = allot_rows(reduce=parts, broadcast=parts, **exit_rows(spec))
    exit_barrier = make_exit(spec, rows)
    steps = (
        stage_in(spec, grid),
        _reduce(spec, grid),
        _broadcast(spec, grid),
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
            Constant(name="BLOCKS", value=NUM_BLOCKS, meaning="blocks of each half"),
            Constant(name="ROUNDS", value=depth, meaning="levels below a root"),
            *exit_barrier.constants,
        ),
    )


def _reduce(spec: AllReduceSpec, grid: Grid) -> Step:
    """Children tell their parent, which adds what they have."""
    row = Name("ROW_REDUCE") + _PART

    def tell(name: str, parent: Name) -> tuple[Step, ...]:
        return (notify_one(name, row, parent),)

    def add(name: str, child: Name) -> tuple[Step, ...]:
        here = Place(window="data", at=_START)
        total = combine_partials(
            spec,
            f"add_{child.name}",
            Phase.REDUCE,
            guard=grid.holds_elements(_START),
            own=here,
            contribution=Place(window="data", at=_START, peer=child),
            target=here,
            span=grid.span(),
            peers=OnePeer(peer=child),
        )
        return *wait_for_one(spec, name, row, child), total

    return _trees(grid, "reduce", ONE << _STEP, of_child=tell, of_parent=add)


def _broadcast(spec: AllReduceSpec, grid: Grid) -> Step:
    """Parents tell their children, which take over the result."""
    row = Name("ROW_BROADCAST") + _PART

    def take(name: str, parent: Name) -> tuple[Step, ...]:
        result = Move(
            name="take_result",
            phase=Phase.BROADCAST,
            guard=grid.holds_elements(_START),
            source=Place(window="data", at=_START, peer=parent),
            target=Place(window="data", at=_START),
            span=grid.span(),
            tile_name="result",
        )
        return *wait_for_one(spec, name, row, parent), result

    def tell(name: str, child: Name) -> tuple[Step, ...]:
        return (notify_one(name, row, child),)

    down = ONE << (_ROUNDS - 1 - _STEP)
    return _trees(grid, "broadcast", down, of_child=take, of_parent=tell)


def _trees(
    grid: Grid, name: str, distance: Expr, *, of_child: _Act, of_parent: _Act
) -> Step:
    """Every block of both trees, level by level."""
    phase = Phase.REDUCE if name == "reduce" else Phase.BROADCAST
    levels = Block(
        name=f"{name}_levels",
        phase=phase,
        rounds=_ROUNDS,
        var=_STEP.name,
        bindings=(
            Binding(name="distance", value=distance),
            Binding(name="odd", value=_PLACE // (_TWO * _DISTANCE) % 2),
        ),
        body=_level(name, phase, of_child, of_parent),
    )
    trees = Block(
        name=f"{name}_trees",
        phase=phase,
        rounds=_TWO,
        var=_TREE.name,
        bindings=(
            Binding(name="place", value=(MY_RANK + _TREE) % NUM_RANKS),
            Binding(name="shift", value=(NUM_RANKS - 1) * _TREE),
            Binding(name="part", value=_TREE * _BLOCKS + _BLOCK),
            Binding(name="start", value=chunk_at(grid, _PART)),
        ),
        body=(levels,),
    )
    return Block(
        name=f"{name}_blocks",
        phase=phase,
        rounds=_BLOCKS,
        var=_BLOCK.name,
        body=(trees,),
    )


def _level(
    name: str, phase: Phase, of_child: _Act, of_parent: _Act
) -> tuple[Step, ...]:
    """What a rank does as a child in this level, or as a parent of up to two."""
    back = _either(_ODD, (_PLACE + _DISTANCE) // NUM_RANKS)
    has_right = _either(_ODD, (_PLACE + _TWO * _DISTANCE) // NUM_RANKS)
    above = _PLACE + _DISTANCE - _TWO * _DISTANCE * Name("back")
    in_level = _PLACE % (_TWO * _DISTANCE)
    child = Block(
        name=f"{name}_as_child",
        phase=phase,
        guard=in_level.equals(_DISTANCE),
        bindings=(
            Binding(name="back", value=back),
            Binding(name="above", value=above),
            _rank_of(_PARENT, Name("above")),
        ),
        body=of_child(f"{name}_parent", _PARENT),
    )
    left = Block(
        name=f"{name}_as_left",
        phase=phase,
        guard=_ODD.equals(1),
        bindings=(_rank_of(_LEFT, _PLACE - _DISTANCE),),
        body=of_parent(f"{name}_left", _LEFT),
    )
    right = Block(
        name=f"{name}_as_right",
        phase=phase,
        guard=(_PLACE + _DISTANCE) < NUM_RANKS,
        bindings=(Binding(name="is_parent", value=has_right),),
        body=(
            Block(
                name=f"{name}_right_child",
                phase=phase,
                guard=Name("is_parent").equals(1),
                bindings=(_rank_of(_RIGHT, _PLACE + _DISTANCE),),
                body=of_parent(f"{name}_right", _RIGHT),
            ),
        ),
    )
    parent = Block(
        name=f"{name}_as_parent",
        phase=phase,
        guard=in_level.equals(0),
        body=(left, right),
    )
    return child, parent


def _either(left: Expr, right: Expr) -> Expr:
    """1 where one of the two is positive, else 0."""
    return Minimum(ONE, left + right)


def _rank_of(name: Name, place: Expr) -> Binding:
    """The rank at `place` of the tree: one back in the second one, so P - 1 on."""
    return Binding(name=name.name, value=(place + Name("shift")) % NUM_RANKS)
