"""Programs as their files have them, for the engine that compiles them itself."""

from __future__ import annotations

from pathlib import Path

from .engines.base import HostTensor, SourceProgram
from .frontend import Parameter, Program, TensorType
from .frontend.standins import Direction


def describe_source(
    program: Program,
    file: Path,
    *,
    num_ranks: int,
    platform: str,
    text: str | None = None,
) -> SourceProgram:
    """What a caller of `program` in `file` passes on `num_ranks` ranks.

    `text` is the file's where it is not written yet.

    Raises CompileError (AR703) where the program has no single host function.
    """
    return SourceProgram(
        file=file,
        name=program.name,
        platform=platform,
        num_ranks=num_ranks,
        tensors=tuple(
            _host_tensor(parameter, parameter.type, num_ranks)
            for parameter in program.host.parameters
            if isinstance(parameter.type, TensorType)
        ),
        scalars=program.scalars,
        text=text,
    )


def _host_tensor(parameter: Parameter, type: TensorType, num_ranks: int) -> HostTensor:
    """Only the leading dimension may be dynamic; it counts the ranks."""
    return HostTensor(
        name=parameter.name,
        shape=tuple(dim if isinstance(dim, int) else num_ranks for dim in type.shape),
        dtype=type.dtype,
        is_written=parameter.direction is not Direction.IN,
    )
