"""From a pypto source file to a trace, without pypto.

`load_programs` imports the file under stand-ins for pypto's modules; `trace_program`
interprets a program's functions from their syntax trees.
"""

from .hosting import is_bound
from .loader import execute_script, load_programs, load_source, stand_in
from .program import Function, Kind, Parameter, Program
from .refusals import NeedsScriptError
from .session import Target
from .tracing import TraceResult, read_program, trace_program
from .types import ScalarType, TensorType

__all__ = [
    "Function",
    "Kind",
    "NeedsScriptError",
    "Parameter",
    "Program",
    "ScalarType",
    "Target",
    "TensorType",
    "TraceResult",
    "execute_script",
    "is_bound",
    "load_programs",
    "load_source",
    "read_program",
    "stand_in",
    "trace_program",
]
