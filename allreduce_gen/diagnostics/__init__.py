"""Findings: their codes, their data, and their forms as text and JSON."""

from .codes import CODES, find_code
from .format import (
    SCHEMA_VERSION,
    diagnostic_to_json,
    format_code,
    format_diagnostic,
    format_diagnostics,
    format_location,
)
from .model import Code, Diagnostic, Location, Note, Severity, diagnose

__all__ = [
    "CODES",
    "SCHEMA_VERSION",
    "Code",
    "Diagnostic",
    "Location",
    "Note",
    "Severity",
    "diagnose",
    "diagnostic_to_json",
    "find_code",
    "format_code",
    "format_diagnostic",
    "format_diagnostics",
    "format_location",
]
