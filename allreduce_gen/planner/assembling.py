"""From steps to a plan: the graph, and what the kernel names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from allreduce_gen.ir.constants import Constant
from allreduce_gen.ir.expr import format_expr
from allreduce_gen.ir.plan import Edge, EdgeKind, Plan, SignalRow, Window, build_graph
from allreduce_gen.ir.steps import (
    INPUT,
    OUTPUT,
    Binding,
    Leaf,
    Move,
    NotifyPeers,
    Place,
    Reduce,
    Step,
    WaitForPeers,
    leaves,
)
from allreduce_gen.spec import AllReduceSpec

from .grids import mesh_elems
from .reducing import factors
from .rows import reuse_scalars


def assemble(
    spec: AllReduceSpec,
    steps: tuple[Step, ...],
    *,
    rows: tuple[SignalRow, ...],
    windows: tuple[Window, ...],
    constants: Iterable[Constant],
    bindings: tuple[Binding, ...] = (),
) -> Plan:
    """The plan of `steps`; `constants` may name one several times."""
    num_ranks = Constant(name="NUM_RANKS", value=spec.num_ranks)
    return Plan(
        spec=spec,
        steps=steps,
        graph=build_graph(steps, find_edges(steps)),
        constants=tuple(dict.fromkeys((num_ranks, *constants))),
        signal_rows=rows,
        windows=windows,
        mesh_elems=mesh_elems(spec),
        bindings=bindings,
        factors=factors(spec),
        scalars=reuse_scalars(spec),
    )


def find_edges(steps: Iterable[Step]) -> Iterator[Edge]:
    """Who writes what a step reads, and who notifies what it waits for.

    `notify_x` is what `wait_x` waits for, or else whoever raises the same row: a parent
    waits for its children's notify to their parent. A step that reads what it has
    itself written in the round before has no edge for that.
    """
    plain = tuple(leaves(steps))
    writers: dict[str, str] = {}
    for step in plain:
        for window in dict.fromkeys(place.window for place in _read(step)):
            if window in writers:
                yield Edge(
                    source=writers[window],
                    target=step.name,
                    kind=EdgeKind.DATA,
                    carrier=window,
                )
        if isinstance(step, Move | Reduce) and step.target.window != OUTPUT:
            writers[step.target.window] = step.name
    for step in plain:
        if isinstance(step, WaitForPeers):
            yield from _signals(step, plain)


def _read(step: Leaf) -> tuple[Place, ...]:
    match step:
        case Move(source=source):
            return () if source.window == INPUT else (source,)
        case Reduce(own=own, contribution=contribution):
            return own, contribution
        case _:
            return ()


def _signals(wait: WaitForPeers, steps: Iterable[Leaf]) -> Iterator[Edge]:
    """An edge from each step that raises what `wait` waits for."""
    raisers = [
        step.name
        for step in steps
        if isinstance(step, NotifyPeers) and step.row == wait.row and step.value > 0
    ]
    named = f"notify_{wait.name.removeprefix('wait_')}"
    for source in [named] if named in raisers else raisers:
        yield Edge(
            source=source,
            target=wait.name,
            kind=EdgeKind.SIGNAL,
            carrier=format_expr(wait.row),
        )
