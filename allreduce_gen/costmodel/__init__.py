"""What an all-reduce costs in seconds: by closed form, and by replay of its trace.

The model has five numbers a platform, read from a TOML file that a user can replace by
measured ones. Its defaults are plausible, not measured, and marked so.
"""

from __future__ import annotations

from .choose import Choice, choose_algorithm, format_reason, is_plannable
from .crossovers import Crossover, find_crossovers
from .fit import Fit, Sample, fit_model
from .formulas import FORMULAS, LowerBounds, closed_form, lower_bounds, remote_bytes
from .loading import format_model, load_model
from .model import COEFFICIENTS, CostModel, format_seconds
from .replay import replay
from .terms import Problem, Terms, pose
from .timeline import Replay, TimedEvent

__all__ = [
    "COEFFICIENTS",
    "FORMULAS",
    "Choice",
    "CostModel",
    "Crossover",
    "Fit",
    "LowerBounds",
    "Problem",
    "Replay",
    "Sample",
    "Terms",
    "TimedEvent",
    "choose_algorithm",
    "closed_form",
    "find_crossovers",
    "fit_model",
    "format_model",
    "format_reason",
    "format_seconds",
    "is_plannable",
    "load_model",
    "lower_bounds",
    "pose",
    "remote_bytes",
    "replay",
]
