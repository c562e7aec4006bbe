"""From a Plan to source text: one frozen view, one template, one layout."""

from __future__ import annotations

import ast
from pathlib import Path

import jinja2

from allreduce_gen.diagnostics import Diagnostic, Location, codes, diagnose
from allreduce_gen.errors import EmitError
from allreduce_gen.ir.cost import Cost
from allreduce_gen.ir.plan import Plan
from allreduce_gen.spec import AllReduceSpec, Transfer

from .commands import format_command
from .environment import find_templates, make_environment
from .layout import lay_out
from .view import KernelView, make_view

__all__ = ["KernelView", "emit", "find_templates", "format_command", "make_view"]


def emit(plan: Plan, cost: Cost, *, templates: Path | None = None) -> str:
    """The kernel's source text; the same plan always gives the same bytes.

    Raises EmitError where a template asks for what the view lacks or cannot be read
    (AR601), or where the text is not Python (AR602).
    """
    path = f"pypto/{_template_name(plan.spec)}.py.jinja"
    try:
        template = make_environment(templates).get_template(path)
        source = lay_out(template.render(view=make_view(plan, cost)))
    except jinja2.TemplateError as error:
        raise EmitError([_template_failed(path, error)]) from error
    _parse(path, source)
    return source


def _template_name(spec: AllReduceSpec) -> str:
    if spec.num_ranks == 1:
        return "identity"
    pushes = spec.transfer is Transfer.PUSH
    return f"{spec.algorithm.value}_push" if pushes else spec.algorithm.value


def _template_failed(path: str, error: jinja2.TemplateError) -> Diagnostic:
    line = getattr(error, "lineno", None)
    return diagnose(
        codes.AR601,
        f"templates/{path} could not be filled in: {error.message or error}",
        location=Location(file=f"templates/{path}", line=line),
        help="restore the template, or add the field to emitter/view.py",
    )


def _parse(path: str, source: str) -> None:
    try:
        ast.parse(source)
    except SyntaxError as error:
        shown = (error.text or "").strip()
        diagnostic = diagnose(
            codes.AR602,
            f"line {error.lineno} of the emitted source is not Python: {shown!r}",
            location=Location(file=f"templates/{path}"),
            help="mend the template; the source was not written",
        )
        raise EmitError([diagnostic]) from error
