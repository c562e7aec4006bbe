"""What a plan costs one rank: counted from its trace, not from formulas."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from allreduce_gen.targets import PLATFORMS

from .events import Event, Notify, RemoteLoad, RemoteStore, Wait
from .liveness import ub_bytes
from .plan import Plan
from .trace import AgentTrace, Trace
from .widen import flatten


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The busiest rank's share, in bytes and counts.

    `bound_bytes` is 2(P-1)/P of the vector, the least that an all-reduce moves through
    one port (Patarasuk and Yuan 2009); `mesh_bytes` is (P-1) vectors, what reading all
    peers' whole vectors takes, with the padding that a mesh of the same spec has. A
    transfer from a rank to itself is not remote.
    `barrier_rounds` are the times a rank waits, for however many peers at once.
    `saved_window_bytes` is the second window that a plan in place does without.
    """

    remote_bytes: int
    total_remote_bytes: int
    bound_bytes: float
    mesh_bytes: int
    barrier_rounds: int
    notifies: int
    waits: int
    window_bytes: int
    saved_window_bytes: int
    ub_bytes: int
    ub_limit_bytes: int


def measure_cost(plan: Plan, trace: Trace) -> Cost:
    """The cost of `plan`, whose expansion is `trace`."""
    spec = plan.spec
    remote = [_remote_bytes(one) for one in trace.agents]
    window_bytes = _window_bytes(plan, trace)
    return Cost(
        remote_bytes=max(remote),
        total_remote_bytes=sum(remote),
        bound_bytes=2 * (spec.num_ranks - 1) / spec.num_ranks * spec.size_bytes,
        mesh_bytes=(spec.num_ranks - 1) * plan.mesh_elems * spec.dtype.nbytes,
        barrier_rounds=max(map(_rounds, trace.agents)),
        notifies=max(_count(one.events, Notify) for one in trace.agents),
        waits=max(_count(one.events, Wait) for one in trace.agents),
        window_bytes=window_bytes,
        # The window of the result would be like that of the inputs.
        saved_window_bytes=window_bytes if spec.in_place else 0,
        ub_bytes=max(ub_bytes(one.events) for one in trace.agents),
        ub_limit_bytes=PLATFORMS[spec.platform].ub_bytes,
    )


def _window_bytes(plan: Plan, trace: Trace) -> int:
    names = {window.name for window in plan.windows}
    return sum(one.nbytes for one in trace.buffers if one.name in names)


def _remote_bytes(one: AgentTrace) -> int:
    return sum(
        event.region.num_elems * event.region.view.dtype.nbytes
        for event in flatten(one.events)
        if isinstance(event, RemoteLoad | RemoteStore) and event.peer != one.agent.rank
    )


def _rounds(one: AgentTrace) -> int:
    """Waits that do not directly follow another one, but for slots lowered between."""
    events = (event for event in one.events if not _is_own(event, one.agent.rank))
    pairs = itertools.pairwise((None, *events))
    return sum(
        isinstance(event, Wait) and not isinstance(before, Wait)
        for before, event in pairs
    )


def _is_own(event: Event, rank: int) -> bool:
    """Whether `event` changes a slot of `rank` itself: nobody waits for that."""
    return isinstance(event, Notify) and event.peer == rank


def _count(events: Iterable[Event], kind: type[Notify] | type[Wait]) -> int:
    return sum(isinstance(event, kind) for event in events)
