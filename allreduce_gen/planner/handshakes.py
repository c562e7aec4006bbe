"""Handshakes: one rank tells one other that something is ready."""

from __future__ import annotations

from allreduce_gen.ir.expr import Expr
from allreduce_gen.ir.steps import (
    ClearSlots,
    NotifyPeers,
    OnePeer,
    Phase,
    Step,
    WaitForPeers,
)
from allreduce_gen.spec import AllReduceSpec, Reuse

from .rows import expected


def notify_one(
    name: str, row: Expr, peer: Expr, *, guard: Expr | None = None
) -> NotifyPeers:
    """Raise this rank's slot in `row` of `peer`."""
    return NotifyPeers(
        name=f"notify_{name}",
        phase=Phase.HANDSHAKE,
        guard=guard,
        peers=OnePeer(peer=peer),
        row=row,
    )


def wait_for_one(
    spec: AllReduceSpec,
    name: str,
    row: Expr,
    peer: Expr,
    *,
    guard: Expr | None = None,
) -> tuple[Step, ...]:
    """Wait for `peer`'s slot in `row`, and give it back where calls clear up."""
    peers = OnePeer(peer=peer)
    wait = WaitForPeers(
        name=f"wait_{name}",
        phase=Phase.HANDSHAKE,
        guard=guard,
        peers=peers,
        row=row,
        expected=expected(spec),
    )
    if spec.reuse is not Reuse.SELF_CLEARING:
        return (wait,)
    clear = ClearSlots(
        name=f"clear_{name}", phase=Phase.RESET, guard=guard, peers=peers, row=row
    )
    return wait, clear


def shake_hands(
    spec: AllReduceSpec, name: str, row: Expr, *, to: Expr, source: Expr
) -> tuple[Step, ...]:
    """Tell `to` that this rank is ready, then wait until `source` is."""
    return notify_one(name, row, to), *wait_for_one(spec, name, row, source)
