"""Findings: their codes, their data, and their forms as text, JSON and SARIF."""

from .codes import CODES, find_code
from .format import (
    SCHEMA_VERSION,
    diagnostic_to_json,
    format_code,
    format_diagnostic,
    format_diagnostics,
    format_location,
)
from .model import Code, Diagnostic, Location, Moment, Note, Severity, diagnose
from .sarif import SARIF_VERSION, sarif_log
from .silences import read_silences, split_silenced

__all__ = [
    "CODES",
    "SARIF_VERSION",
    "SCHEMA_VERSION",
    "Code",
    "Diagnostic",
    "Location",
    "Moment",
    "Note",
    "Severity",
    "diagnose",
    "diagnostic_to_json",
    "find_code",
    "format_code",
    "format_diagnostic",
    "format_diagnostics",
    "format_location",
    "read_silences",
    "sarif_log",
    "split_silenced",
]
