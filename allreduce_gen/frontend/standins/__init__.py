"""Stand-ins for the modules of pypto, there while a program file is loaded."""

from .modules import make_modules
from .objects import (
    DATA_TYPES,
    Annotation,
    DataType,
    Decorated,
    Direction,
    DynamicDim,
    Operation,
)

__all__ = [
    "DATA_TYPES",
    "Annotation",
    "DataType",
    "Decorated",
    "Direction",
    "DynamicDim",
    "Operation",
    "make_modules",
]
