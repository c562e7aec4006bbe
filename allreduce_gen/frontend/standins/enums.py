"""The enumerations that programs name."""

from __future__ import annotations

import enum


class FunctionType(enum.Enum):
    """What kind of core or host a function runs on."""

    Opaque = "Opaque"
    Orchestration = "Orchestration"
    InCore = "InCore"
    AIC = "AIC"
    AIV = "AIV"
    Group = "Group"
    Spmd = "Spmd"
    Inline = "Inline"
    Graph = "Graph"


class Level(enum.Enum):
    """Where in the machine's hierarchy a function runs."""

    AIV = "AIV"
    AIC = "AIC"
    CORE_GROUP = "CORE_GROUP"
    CHIP_DIE = "CHIP_DIE"
    CHIP = "CHIP"
    HOST = "HOST"
    CLUSTER_0 = "CLUSTER_0"
    CLUSTER_1 = "CLUSTER_1"
    CLUSTER_2 = "CLUSTER_2"
    GLOBAL = "GLOBAL"


class Role(enum.Enum):
    """Whether a function dispatches others or does the work."""

    Orchestrator = "Orchestrator"
    SubWorker = "SubWorker"


class NotifyOp(enum.Enum):
    """How a notify changes a slot."""

    AtomicAdd = 0
    Set = 1


class WaitCmp(enum.Enum):
    """When a wait lets go."""

    Eq = 0
    Ge = 1


class AtomicType(enum.Enum):
    """Whether a store adds to what is there."""

    None_ = 0
    Add = 1


class ReduceOp(enum.Enum):
    """The operators of pypto's own collectives."""

    Sum = 0
    Max = 1
    Min = 2
    Prod = 3


class MemorySpace(enum.Enum):
    """On-chip memories; only Vec holds what vector arithmetic uses."""

    DDR = "DDR"
    Vec = "Vec"
    Mat = "Mat"
    Left = "Left"
    Right = "Right"
    Acc = "Acc"


LogLevel = enum.Enum("LogLevel", "DEBUG INFO WARN ERROR FATAL EVENT NONE")
"""How much pypto says while it compiles; nothing is said here."""
