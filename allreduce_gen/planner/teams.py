"""Ranks that synchronise with each other, as a circle: all of them, or one group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from allreduce_gen.ir.expr import MY_RANK, NUM_RANKS, ONE, ZERO, Const, Expr, Name
from allreduce_gen.ir.steps import OnePeer, PeerLoop, Peers
from allreduce_gen.spec import AllReduceSpec


def _itself(place: Expr) -> Expr:
    return place


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """`size` ranks; this one has place `index`, and `rank_of` turns places to ranks."""

    index: Expr
    size: Expr
    rank_of: Callable[[Expr], Expr] = _itself

    def around(self, step: Expr) -> Expr:
        """The rank that is `step` places further on. It only counts up before the %."""
        return self.rank_of((self.index + step) % self.size)

    def others(self, name: str = "peer") -> PeerLoop:
        """Every other member, from the next one around.

        No two members visit the same peer at the same step, and there is no branch.
        """
        return self._visit(name, ONE)

    def everybody(self, name: str = "peer") -> PeerLoop:
        """Every member, from this one around."""
        return self._visit(name, ZERO)

    def _visit(self, name: str, start: Const) -> PeerLoop:
        peer = self.around(Name("step"))
        return PeerLoop(name=name, peer=peer, start=start, stop=self.size)


WORLD = Team(index=MY_RANK, size=NUM_RANKS)
"""All ranks."""


def in_order(spec: AllReduceSpec, name: str, first: int) -> Peers:
    """Every rank from `first` on, ascending: the same order on every rank."""
    if first == spec.num_ranks - 1:
        return OnePeer(peer=Const(first))
    return PeerLoop(
        name=name, peer=Name(name), start=Const(first), stop=NUM_RANKS, var=name
    )
