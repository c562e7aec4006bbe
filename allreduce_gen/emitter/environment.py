"""The Jinja environment: where templates are, and what they may do."""

from __future__ import annotations

from pathlib import Path

import jinja2

from allreduce_gen.ir.expr import format_expr
from allreduce_gen.spec import DType

PACKAGE = Path(__file__).resolve().parent.parent


def find_templates() -> Path:
    """The template folder: inside the package when installed, beside it in a checkout.

    An editable install and a checkout both use the folder beside the package.
    """
    installed = PACKAGE / "_templates"
    return installed if installed.is_dir() else PACKAGE.parent / "templates"


def make_environment(templates: Path | None = None) -> jinja2.Environment:
    """Templates from `templates`, else from `find_templates()`; no undefined names."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates or find_templates()),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # the output is Python, not markup
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["expr"] = format_expr
    environment.filters["dtype"] = format_dtype
    return environment


def format_dtype(dtype: DType) -> str:
    """pypto's name for `dtype`: `pl.FP32`."""
    return f"pl.{dtype.name}"
