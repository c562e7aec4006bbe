"""Barriers: nobody leaves before everybody has come.

    all-peer        everybody notifies everybody, then waits for everybody: one round
    dissemination   in round k everybody notifies the rank 2^k further on and waits for
                    the one 2^k behind: ceil(log2 P) rounds of one notify each

Both use one signal row, for no two notifies of a barrier go from one rank to the same
peer.
"""

from __future__ import annotations

from dataclasses import dataclass

from allreduce_gen.ir.constants import Constant
from allreduce_gen.ir.expr import ONE, Name, format_expr
from allreduce_gen.ir.plan import SignalRow
from allreduce_gen.ir.steps import (
    Binding,
    Block,
    ClearSlots,
    NotifyPeers,
    OnePeer,
    Peers,
    Phase,
    Step,
    WaitForPeers,
)
from allreduce_gen.spec import AllReduceSpec, BarrierKind, Reuse

from .rows import expected
from .teams import WORLD, Team

MOST_ALL_PEER = 16
"""Ranks up to which `auto` lets everybody notify everybody."""

_AHEAD, _BEHIND = Name("ahead"), Name("behind")
_REACH, _STEP = Name("reach"), Name("step")


@dataclass(frozen=True, slots=True, kw_only=True)
class Barrier:
    """One barrier: its steps, and the constants that it is written with."""

    steps: tuple[Step, ...]
    constants: tuple[Constant, ...] = ()


def make_barrier(
    spec: AllReduceSpec,
    row: SignalRow,
    *,
    team: Team = WORLD,
    members: int | None = None,
    clears: bool = True,
) -> Barrier:
    """A barrier of `team`, all ranks unless given, that uses `row`.

    Where calls clear up after themselves it lowers its slots again, unless `clears` is
    False: the kernel then does it once for all barriers, by `clear_slots`.
    """
    count = members or spec.num_ranks
    name = row.name.removeprefix("ROW_").lower()
    if uses_dissemination(spec, count):
        return _dissemination(spec, row, name, team, count)
    pair = _notify_and_wait(spec, row, name, team.others(), team.others())
    clear = _clear(spec, row, name, team.others()) if clears else ()
    return Barrier(steps=(*pair, *clear))


def exit_rows(spec: AllReduceSpec) -> dict[str, int]:
    """The signal row of a last barrier, where windows persist."""
    return {"done": 1} if spec.reuse is not Reuse.ONCE else {}


def make_exit(spec: AllReduceSpec, rows: tuple[SignalRow, ...]) -> Barrier:
    """The last barrier, where `rows` has one for it: windows may be written again."""
    for row in rows:
        if row.name == "ROW_DONE":
            return make_barrier(spec, row)
    return Barrier(steps=())


def uses_dissemination(spec: AllReduceSpec, members: int) -> bool:
    """Whether barriers of `members` ranks go in rounds."""
    if spec.barrier is BarrierKind.AUTO:
        return members > MOST_ALL_PEER
    return spec.barrier is BarrierKind.DISSEMINATION


def clear_slots(spec: AllReduceSpec) -> tuple[ClearSlots, ...]:
    """The step that returns every slot to zero, where calls clear up after themselves.

    It comes after the last wait. A peer may already have raised a slot for the next
    call: lowering it by what this call has used keeps that. Barriers in rounds have
    done it already.
    """
    if spec.reuse is not Reuse.SELF_CLEARING:
        return ()
    if uses_dissemination(spec, spec.num_ranks):
        return ()
    return (
        ClearSlots(
            name="clear_slots",
            phase=Phase.RESET,
            peers=WORLD.others(),
            num_rows=Name("NUM_ROWS"),
        ),
    )


def _notify_and_wait(
    spec: AllReduceSpec, row: SignalRow, name: str, ahead: Peers, behind: Peers
) -> tuple[Step, ...]:
    return (
        NotifyPeers(
            name=f"notify_{name}",
            phase=Phase.BARRIER,
            peers=ahead,
            row=Name(row.name),
        ),
        WaitForPeers(
            name=f"wait_{name}",
            phase=Phase.BARRIER,
            peers=behind,
            row=Name(row.name),
            expected=expected(spec),
        ),
    )


def _clear(
    spec: AllReduceSpec, row: SignalRow, name: str, behind: Peers
) -> tuple[Step, ...]:
    if spec.reuse is not Reuse.SELF_CLEARING:
        return ()
    return (
        ClearSlots(
            name=f"clear_{name}", phase=Phase.RESET, peers=behind, row=Name(row.name)
        ),
    )


def _dissemination(
    spec: AllReduceSpec, row: SignalRow, name: str, team: Team, members: int
) -> Barrier:
    rounds_name = "BARRIER_ROUNDS" if team is WORLD else f"{name.upper()}_ROUNDS"
    rounds = Constant(
        name=rounds_name,
        value=(members - 1).bit_length(),
        meaning=f"2 ** {rounds_name} >= {format_expr(team.size)}",
    )
    behind = OnePeer(peer=_BEHIND)
    block = Block(
        name=f"barrier_{name}",
        phase=Phase.BARRIER,
        rounds=Name(rounds.name),
        var=_STEP.name,
        bindings=(
            Binding(name=_REACH.name, value=ONE << _STEP),
            Binding(name=_AHEAD.name, value=team.around(_REACH)),
            Binding(name=_BEHIND.name, value=team.around((team.size - 1) * _REACH)),
        ),
        body=(
            *_notify_and_wait(spec, row, name, OnePeer(peer=_AHEAD), behind),
            *_clear(spec, row, name, behind),
        ),
    )
    return Barrier(steps=(block,), constants=(rounds,))
