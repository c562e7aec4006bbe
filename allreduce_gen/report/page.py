"""One self-contained HTML page about a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import jinja2

from allreduce_gen.costmodel import (
    CostModel,
    format_seconds,
    lower_bounds,
    pose,
    replay,
)
from allreduce_gen.diagnostics import format_diagnostics
from allreduce_gen.emitter import find_templates, format_command
from allreduce_gen.ir.expand import expand
from allreduce_gen.kernel import Kernel

from .comparison import count, format_verdict
from .graph_text import format_dot, format_mermaid
from .plan_picture import draw_plan
from .shapes import Picture
from .timeline_picture import draw_timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class PageView:
    """Exactly what the template may read."""

    kernel: Kernel
    command: str
    verdict: str
    findings: str
    card: tuple[tuple[str, str, str], ...]
    model: CostModel
    charges_source: bool
    seconds: str
    plan_picture: Picture
    timeline: Picture
    dot: str
    mermaid: str


def format_page(
    kernel: Kernel,
    model: CostModel,
    *,
    charges_source: bool = False,
    templates: Path | None = None,
) -> str:
    """The page as HTML. Its timeline charges the source's port too where that is said.

    Raises jinja2.TemplateError for a template that cannot be filled in.
    """
    trace = expand(kernel.plan)
    replayed = replay(trace, model, charges_source=charges_source)
    view = PageView(
        kernel=kernel,
        command=format_command(kernel.spec),
        verdict=format_verdict(kernel),
        findings=format_diagnostics(kernel.warnings),
        card=tuple(_card(kernel, model)),
        model=model,
        charges_source=charges_source,
        seconds=format_seconds(replayed.seconds),
        plan_picture=draw_plan(kernel.plan, trace),
        timeline=draw_timeline(replayed, model, trace.num_ranks),
        dot=format_dot(kernel.plan),
        mermaid=format_mermaid(kernel.plan),
    )
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates or find_templates()),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report/page.html.jinja").render(view=view)


def _card(kernel: Kernel, model: CostModel) -> list[tuple[str, str, str]]:
    """What is counted, how much, and a remark beside it."""
    counted, cost = count(kernel, model), kernel.cost
    bounds = lower_bounds(pose(kernel.spec)).seconds(model)
    ratio = cost.remote_bytes / cost.bound_bytes if cost.bound_bytes else 0.0
    both = format_seconds(counted.replay_both_s)
    each = ", ".join(f"{key} {format_seconds(one)}" for key, one in bounds.items())
    return [
        ("remote bytes", f"{cost.remote_bytes}", f"{ratio:.3f} x the bound 2(P-1)/P"),
        ("rounds", f"{counted.rounds}", "of moving data, on the critical path"),
        ("notifies", f"{cost.notifies}", f"and {cost.waits} waits on the busiest rank"),
        ("signal rows", f"{counted.num_rows}", f"of {kernel.spec.num_ranks} slots"),
        ("window bytes", f"{cost.window_bytes}", "on every rank"),
        ("on-chip buffer", f"{cost.ub_bytes}", f"bytes of {cost.ub_limit_bytes}"),
        ("modelled time", format_seconds(counted.model_s), "closed form"),
        (
            "replayed time",
            format_seconds(counted.replay_s),
            f"{both} with the source's port charged too",
        ),
        ("lower bound", format_seconds(max(bounds.values())), each),
    ]
