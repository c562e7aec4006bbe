from __future__ import annotations
from typing import Any


def run_pypto(source: Any, inputs: Any, options: Any) -> Any:
    raise NotImplementedError


def compile_here(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError
