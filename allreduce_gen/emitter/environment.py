"""The Jinja environment: where templates are, and what they may do."""

from __future__ import annotations

import functools
from pathlib import Path

import jinja2

from allreduce_gen.ir.expr import Const, Expr, format_expr
from allreduce_gen.spec import DType, ReduceOp

PACKAGE = Path(__file__).resolve().parent.parent


def find_templates() -> Path:
    """The template folder: inside the package when installed, beside it in a checkout.

    An editable install and a checkout both use the folder beside the package.
    """
    installed = PACKAGE / "_templates"
    return installed if installed.is_dir() else PACKAGE.parent / "templates"


@functools.cache
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
    environment.filters["peer"] = format_peer
    environment.filters["dtype"] = format_dtype
    environment.filters["tile_op"] = format_tile_op
    return environment


_TILE_OPS = {
    ReduceOp.SUM: "add",
    ReduceOp.AVG: "add",
    ReduceOp.PROD: "mul",
    ReduceOp.MAX: "maximum",
    ReduceOp.MIN: "minimum",
}


def format_tile_op(op: ReduceOp) -> str:
    """pypto's name for combining two tiles by `op`: `add`."""
    return _TILE_OPS[op]


def format_peer(peer: Expr) -> str:
    """`peer` as remote_load takes it: pypto's parser fails on a bare integer."""
    text = format_expr(peer)
    return f"pl.const({text}, pl.INT32)" if isinstance(peer, Const) else text


def format_dtype(dtype: DType) -> str:
    """pypto's name for `dtype`: `pl.FP32`."""
    return f"pl.{dtype.name}"
