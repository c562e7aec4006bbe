"""From an AllReduceSpec to a Plan: all that is decided is decided here."""

from __future__ import annotations

from .identity import plan_identity
from .planners import make_plan
from .spec_rules import check_spec
from .two_phase import plan_two_phase

__all__ = [
    "check_spec",
    "make_plan",
    "plan_identity",
    "plan_two_phase",
]
