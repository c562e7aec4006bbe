"""A plan: the dependency graph of one generic rank's steps, and what they share."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field

import networkx as nx

from allreduce_gen.spec import AllReduceSpec, DType

from .constants import Constant, Factor
from .expr import Expr
from .steps import Binding, Step, leaves


class EdgeKind(enum.Enum):
    """Why one step comes after another."""

    PROGRAM = "program"  # the rank runs them in this order
    DATA = "data"  # it reads what the other, here or on a peer, has written
    SIGNAL = "signal"  # it waits for what the other, on a peer, notifies


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """`target` comes after `source`; `carrier` is the window or signal row between."""

    source: str
    target: str
    kind: EdgeKind
    carrier: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Memory of every rank that peers may read: a [rows, width] tensor of `dtype`."""

    name: str
    rows: Expr
    width: Expr
    dtype: DType


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalRow(Constant):
    """`count` rows of the signal window, one for each round, from row `value` on."""

    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a generic rank does, as a program and as a graph, and the names it uses.

    `steps` are in program order, with loops and branches as blocks. `graph` is a frozen
    DiGraph of the steps in and outside blocks: a node's `step` is its Step, an edge's
    `edges` are the Edge objects between the two.
    `signal_rows` names the rows of the signal window, in order and without gaps.
    `scalars` are the kernel's INT32 arguments after its tensors.
    `mesh_elems` are what a mesh of the same spec moves between two ranks, with its
    padding: the measure of what this plan moves.
    """

    spec: AllReduceSpec
    steps: tuple[Step, ...]
    graph: nx.DiGraph[str] = field(repr=False)
    constants: tuple[Constant, ...]
    signal_rows: tuple[SignalRow, ...]
    windows: tuple[Window, ...]
    mesh_elems: int
    bindings: tuple[Binding, ...] = ()
    factors: tuple[Factor, ...] = ()
    scalars: tuple[str, ...] = ()

    @property
    def edges(self) -> tuple[Edge, ...]:
        """All edges, in the order of the steps they start from."""
        between: Iterable[tuple[str, str, tuple[Edge, ...]]]
        between = self.graph.edges(data="edges")
        return tuple(edge for *_, edges in between for edge in edges)

    @property
    def env(self) -> dict[str, int]:
        """The values of all constants and signal rows, and how many rows there are."""
        named = {one.name: one.value for one in (*self.constants, *self.signal_rows)}
        return named | {"NUM_ROWS": self.num_rows}

    @property
    def num_rows(self) -> int:
        """Rows of the signal window."""
        return sum(row.count for row in self.signal_rows)


def build_graph(steps: Iterable[Step], edges: Iterable[Edge]) -> nx.DiGraph[str]:
    """A frozen graph of `steps`, in their order, with `edges` and the program order."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for step in leaves(steps):
        graph.add_node(step.name, step=step)
    program = [
        Edge(source=before, target=after, kind=EdgeKind.PROGRAM)
        for before, after in itertools.pairwise(graph)
    ]
    for edge in (*program, *edges):
        assert {edge.source, edge.target} <= graph.nodes.keys(), edge
        known = graph.edges.get((edge.source, edge.target), {"edges": ()})["edges"]
        graph.add_edge(edge.source, edge.target, edges=(*known, edge))
    nx.freeze(graph)
    return graph
