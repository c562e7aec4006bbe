"""What people look at: tables, plots, and one page about a kernel."""

from __future__ import annotations

from .comparison import ComparedAlgorithm, Comparison, compare_algorithms
from .page import format_page
from .tables import comparisons_to_json, format_comparison, format_crossovers

__all__ = [
    "ComparedAlgorithm",
    "Comparison",
    "compare_algorithms",
    "comparisons_to_json",
    "format_comparison",
    "format_crossovers",
    "format_page",
]
