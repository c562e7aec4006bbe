"""Stand-ins for the modules of pypto, there while a program file is loaded."""

from .compiled import DistributedCompiledProgram
from .modules import make_module, make_modules
from .objects import (
    DATA_TYPES,
    Annotation,
    DataType,
    Decorated,
    Direction,
    DynamicDim,
    Operation,
    Subscriptable,
)

__all__ = [
    "DATA_TYPES",
    "Annotation",
    "DataType",
    "Decorated",
    "Direction",
    "DistributedCompiledProgram",
    "DynamicDim",
    "Operation",
    "Subscriptable",
    "make_module",
    "make_modules",
]
