"""What a script needs to run its compiled programs: whoever executes them hands it in.

    ir.compile(program, ...)      Session.compile    -> Runner
    compiled(x, y)                Runner.prepare()   -> Prepared, called once
    compiled.prepare(...) as rt   Runner.prepare(..) -> Prepared, called many times

The frontend reads programs and binds arguments to nothing; checking and running them is
the session's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from .program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a script compiles for.

    `num_ranks` is the length of its device list, None where it gives none. `shapes` are
    those of example tensors, by parameter, where it gives some; `fixed` are the scalars
    whose values it compiles in, whatever a call passes.
    """

    platform: str
    num_ranks: int | None
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    fixed: Mapping[str, int | float] = field(default_factory=dict)


class Prepared(Protocol):
    """A program that is ready to be called with host tensors.

    `num_allocations` counts how often its windows were made.
    """

    @property
    def num_allocations(self) -> int: ...

    def __call__(self, arguments: tuple[Any, ...]) -> Any:
        """Run it once; results are written into the arguments.

        Where outputs are left out they are made and returned.
        """
        ...


class Runner(Protocol):
    """A compiled program. `parts` names what its host dispatches."""

    @property
    def parts(self) -> tuple[str, ...]: ...

    def prepare(self, *, keeps_windows: bool, resets_windows: bool) -> Prepared:
        """`keeps_windows` makes windows once for all calls; resetting zeroes them."""
        ...


class Session(Protocol):
    """Checks and runs the programs of one script."""

    def compile(self, program: Program, target: Target) -> Runner:
        """Raises AllReduceGenError for a program that is refused."""
        ...
