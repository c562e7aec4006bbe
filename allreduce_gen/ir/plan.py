"""A plan: the dependency graph of one generic rank's steps, and what they share."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field

import networkx as nx

from allreduce_gen.spec import AllReduceSpec, DType

from .expr import Expr
from .steps import Step


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
class Constant:
    """A number that the kernel names: a module constant, with its meaning beside it."""

    name: str
    value: int
    meaning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Memory of every rank that peers may read: a [rows, width] tensor of `dtype`."""

    name: str
    rows: Expr
    width: Expr
    dtype: DType


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A local name that the kernel gives to an expression before the first step."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Steps of a generic rank as a frozen DiGraph, and the names that they use.

    A node's `step` is its Step; an edge's `edges` are the Edge objects between the two.
    `signal_rows` names the rows of the signal window, one for each barrier round.
    """

    spec: AllReduceSpec
    graph: nx.DiGraph[str] = field(repr=False)
    constants: tuple[Constant, ...]
    signal_rows: tuple[Constant, ...]
    windows: tuple[Window, ...]
    bindings: tuple[Binding, ...] = ()

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps in the order in which a rank runs them."""
        return tuple(self.graph.nodes[name]["step"] for name in self.graph)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """All edges, in the order of the steps they start from."""
        between: Iterable[tuple[str, str, tuple[Edge, ...]]]
        between = self.graph.edges(data="edges")
        return tuple(edge for *_, edges in between for edge in edges)

    @property
    def env(self) -> dict[str, int]:
        """The values of all constants and signal rows."""
        rows = {row.name: row.value for row in self.signal_rows}
        return {one.name: one.value for one in self.constants} | rows


def build_graph(steps: Iterable[Step], edges: Iterable[Edge]) -> nx.DiGraph[str]:
    """A frozen graph of `steps`, in their order, with `edges` and the program order."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for step in steps:
        graph.add_node(step.name, step=step)
    names = list(graph)
    program = [
        Edge(source=before, target=after, kind=EdgeKind.PROGRAM)
        for before, after in itertools.pairwise(names)
    ]
    for edge in (*program, *edges):
        known = graph.edges.get((edge.source, edge.target), {"edges": ()})["edges"]
        graph.add_edge(edge.source, edge.target, edges=(*known, edge))
    nx.freeze(graph)
    return graph
