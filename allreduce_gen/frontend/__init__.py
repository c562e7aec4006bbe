"""From a pypto source file to a trace, without pypto.

`load_programs` imports the file under stand-ins for pypto's modules; `trace_program`
interprets a program's functions from their syntax trees.
"""

from .loader import load_programs, load_source
from .program import Function, Kind, Parameter, Program
from .tracing import TraceResult, trace_program
from .types import ScalarType, TensorType

__all__ = [
    "Function",
    "Kind",
    "Parameter",
    "Program",
    "ScalarType",
    "TensorType",
    "TraceResult",
    "load_programs",
    "load_source",
    "trace_program",
]
