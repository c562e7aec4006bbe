"""The plan's graph as DOT and as Mermaid: text for other programs."""

from __future__ import annotations

from collections.abc import Iterator

from allreduce_gen.ir.plan import Edge, EdgeKind, Plan
from allreduce_gen.ir.steps import Leaf

_DOT_STYLES = {
    EdgeKind.PROGRAM: "color=grey",
    EdgeKind.DATA: "color=blue",
    EdgeKind.SIGNAL: "color=darkorange, style=dashed",
}
_MERMAID_ARROWS = {
    EdgeKind.PROGRAM: "-->",
    EdgeKind.DATA: "==>",
    EdgeKind.SIGNAL: "-.->",
}


def format_dot(plan: Plan) -> str:
    """The steps of one generic rank as a DOT digraph, without a trailing newline."""
    nodes = (
        f'    {name} [label="{name}\\n{step.phase.value}"];'
        for name, step in _steps(plan)
    )
    edges = (
        f"    {edge.source} -> {edge.target} [{_dot_attributes(edge)}];"
        for edge in plan.edges
    )
    head = (
        f'digraph "{plan.spec.name}" {{',
        "    rankdir=LR;",
        "    node [shape=box];",
    )
    return "\n".join((*head, *nodes, *edges, "}"))


def _steps(plan: Plan) -> Iterator[tuple[str, Leaf]]:
    for name, attributes in plan.graph.nodes.items():
        step: Leaf = attributes["step"]
        yield name, step


def _dot_attributes(edge: Edge) -> str:
    label = f', label="{edge.carrier}"' if edge.carrier else ""
    return f"{_DOT_STYLES[edge.kind]}{label}"


def format_mermaid(plan: Plan) -> str:
    """The same as a Mermaid flowchart."""
    nodes = (
        f'    {name}["{name}<br>{step.phase.value}"]' for name, step in _steps(plan)
    )
    edges = (_mermaid_edge(edge) for edge in plan.edges)
    return "\n".join(("flowchart LR", *nodes, *edges))


def _mermaid_edge(edge: Edge) -> str:
    label = f'|"{edge.carrier}"|' if edge.carrier else ""
    return f"    {edge.source} {_MERMAID_ARROWS[edge.kind]}{label} {edge.target}"
