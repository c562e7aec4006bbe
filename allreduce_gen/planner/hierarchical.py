"""Two levels: within groups of ranks, then across groups, and back.

A member's chunk is reduced in its group; the members of the same number in all groups
share the chunk's pieces out among them. Two groups of two:

    rank 0   stage | A | +c0 from 1 | B | +p0 from 2 | C | p1 from 2 | D | c1 from 1
    rank 1   stage | A | +c1 from 0 | B | +p2 from 3 | C | p3 from 3 | D | c0 from 0
    rank 2   stage | A | +c0 from 3 | B | +p1 from 0 | C | p0 from 0 | D | c1 from 3
    rank 3   stage | A | +c1 from 2 | B | +p3 from 1 | C | p2 from 1 | D | c0 from 2

A and D are barriers of a group, B and C of the members of one number. Of S ranks each,
G groups move 2(S-1)/S of the vector within a group and 2(G-1)/G of an S-th of it
across: together the least that there is, most of it on the short links. A piece has one
owner, so every rank gets the same bits. All is done in place: what a rank writes, its
owner alone has read, before the barrier in between.

Groups are near the square root of P, which they must divide: a prime number of ranks is
folded to the one below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from allreduce_gen.ir.constants import Constant
from allreduce_gen.ir.expr import MY_RANK, Expr, Name
from allreduce_gen.ir.plan import Plan
from allreduce_gen.ir.steps import Binding, Block, Move, PeerLoop, Phase, Place, Step
from allreduce_gen.spec import AllReduceSpec
from allreduce_gen.targets import accumulator

from .assembling import assemble
from .barriers import Barrier, exit_rows, make_barrier, make_exit
from .folding import Fold
from .grids import Grid, lay_grid
from .reducing import combine_partials
from .rows import allot_rows
from .staging import exchange_bytes, stage_in, stage_out
from .teams import Team

_GROUP, _MEMBER = Name("group"), Name("member")
_GROUPS, _MEMBERS = Name("GROUPS"), Name("MEMBERS")
_PIECE = Name("PIECE")
_MY_CHUNK, _MY_PIECE = Name("my_chunk"), Name("my_piece")

_INSIDE = Team(
    index=_MEMBER, size=_MEMBERS, rank_of=lambda place: _GROUP * _MEMBERS + place
)
_ACROSS = Team(
    index=_GROUP, size=_GROUPS, rank_of=lambda place: place * _MEMBERS + _MEMBER
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    """A phase of `team`: the row of the barrier before it, and the reads it makes."""

    row: str
    team: Team
    members: int
    transfer: Step


def plan_hierarchical(spec: AllReduceSpec) -> Plan:
    """Reduce in groups, then across them; gather across them, then in groups."""
    groups, members = choose_groups(spec)
    core = groups * members
    grid = lay_grid(spec, core, exchange_bytes(spec), chunk_name="PIECE")
    fold = Fold(spec=spec, core=core, grid=grid)
    levels = _levels(spec, grid, groups, members)
    rows = allot_rows(**{one.row: 1 for one in levels}, **fold.rows, **exit_rows(spec))
    barriers = [
        make_barrier(spec, row, team=one.team, members=one.members)
        for one, row in zip(levels, rows, strict=False)
    ]
    exit_barrier = make_exit(spec, rows)
    steps = (
        stage_in(spec, grid),
        *fold.around(tuple(map(_phase, levels, barriers))),
        *exit_barrier.steps,
        stage_out(spec, grid),
    )
    return assemble(
        spec,
        steps,
        rows=rows,
        windows=(grid.window("data", accumulator(spec)),),
        constants=(
            Constant(name="GROUPS", value=groups),
            Constant(name="MEMBERS", value=members, meaning="ranks in each group"),
            *grid.constants,
            *fold.constants,
            *(constant for one in barriers for constant in one.constants),
            *exit_barrier.constants,
        ),
        bindings=_bindings(groups),
    )


def _bindings(groups: int) -> tuple[Binding, ...]:
    names = (
        Binding(name="group", value=MY_RANK // _MEMBERS),
        Binding(name="member", value=MY_RANK % _MEMBERS),
        Binding(name="my_chunk", value=_MEMBER * _GROUPS * _PIECE),
    )
    piece = Binding(name="my_piece", value=_MY_CHUNK + _GROUP * _PIECE)
    return (*names, piece) if groups > 1 else names


def choose_groups(spec: AllReduceSpec) -> tuple[int, int]:
    """How many groups of how many ranks: what `spec` says, or near the square root.

    The product is P, or P - 1 where P is a prime above 3.
    """
    if spec.groups is not None:
        return spec.groups
    groups = _divisor(spec.num_ranks)
    if groups == 1 and spec.num_ranks > 3:
        groups = _divisor(spec.num_ranks - 1)
        return groups, (spec.num_ranks - 1) // groups
    return groups, spec.num_ranks // groups


def _divisor(number: int) -> int:
    """The largest divisor that is not above the square root."""
    return max(one for one in range(1, math.isqrt(number) + 1) if number % one == 0)


def _levels(spec: AllReduceSpec, grid: Grid, groups: int, members: int) -> list[_Level]:
    """The four phases, out and back; those of a team of one are left out."""
    inside, across = _INSIDE.others(), _ACROSS.others("other")
    piece_of_other = _MY_CHUNK + across.rank // _MEMBERS * _PIECE
    chunk_of_peer = inside.rank % _MEMBERS * _GROUPS * _PIECE
    levels = (
        ("staged", _add(spec, grid, "reduce_in_group", inside, _MY_CHUNK, _GROUPS)),
        ("reduced", _add(spec, grid, "reduce_across", across, _MY_PIECE)),
        ("shared", _take(grid, "gather_across", across, piece_of_other)),
        ("gathered", _take(grid, "gather_in_group", inside, chunk_of_peer, _GROUPS)),
    )
    in_group, over_groups = (_INSIDE, members), (_ACROSS, groups)
    teams = (in_group, over_groups, over_groups, in_group)
    return [
        _Level(row=row, team=team, members=count, transfer=transfer)
        for (row, transfer), (team, count) in zip(levels, teams, strict=True)
        if count > 1
    ]


def _phase(level: _Level, barrier: Barrier) -> Step:
    return Block(
        name=f"{level.transfer.name}_phase",
        phase=level.transfer.phase,
        body=(*barrier.steps, level.transfer),
    )


def _add(
    spec: AllReduceSpec, grid: Grid, name: str, peers: PeerLoop, at: Expr, *pieces: Expr
) -> Step:
    return combine_partials(
        spec,
        name,
        Phase.REDUCE_SCATTER,
        own=Place(window="data", at=at),
        contribution=Place(window="data", at=at, peer=peers.rank),
        target=Place(window="data", at=at),
        span=grid.span(*pieces),
        peers=peers,
    )


def _take(grid: Grid, name: str, peers: PeerLoop, at: Expr, *pieces: Expr) -> Step:
    return Move(
        name=name,
        phase=Phase.ALL_GATHER,
        source=Place(window="data", at=at, peer=peers.rank),
        target=Place(window="data", at=at),
        span=grid.span(*pieces),
        tile_name="reduced",
        peers=peers,
    )
