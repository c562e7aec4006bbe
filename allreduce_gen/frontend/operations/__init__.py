"""The operations of kernels and orchestrators, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from allreduce_gen.frontend.calls import Call
from allreduce_gen.frontend.context import Typed

from .arithmetic import ARITHMETIC
from .collectives import COLLECTIVES
from .host_collectives import HOST_COLLECTIVES
from .memory import MEMORY
from .remote import REMOTE
from .scalars import RANKS, SCALARS
from .signals import SIGNALS
from .tensors import TENSORS
from .tiles import TILES
from .transfers import TRANSFERS
from .windows import WINDOWS

Handler = Callable[[Call], Typed]

KERNEL_OPERATIONS: Mapping[str, Handler] = {
    **SCALARS,
    **RANKS,
    **MEMORY,
    **TILES,
    **REMOTE,
    **TRANSFERS,
    **ARITHMETIC,
    **SIGNALS,
    **COLLECTIVES,
}
"""What InCore kernels do."""

HOST_OPERATIONS: Mapping[str, Handler] = {
    **SCALARS,
    **WINDOWS,
    **TENSORS,
    **HOST_COLLECTIVES,
}
"""What orchestrators do, beside calling others."""

__all__ = ["HOST_OPERATIONS", "KERNEL_OPERATIONS", "Handler"]
