"""What a caller passes to a program, matched with what the program declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .diagnostics import codes, diagnose
from .engines.base import HostTensor
from .engines.lending import Lent, lend, make_tensor
from .errors import ExecutionError
from .frontend import Parameter, Program, ScalarType, TensorType
from .frontend.standins import Direction

Shape = tuple[int, ...]


def complete_arguments(
    program: Program, arguments: tuple[Any, ...]
) -> tuple[tuple[Any, ...], Any]:
    """All arguments of a call, and what the call returns.

    Outputs may be left out together: they are then made, and are the result.

    Raises ExecutionError (AR505) for another number of arguments.
    """
    parameters = program.host.parameters
    outputs = [one for one in parameters if one.direction is Direction.OUT]
    if len(arguments) == len(parameters):
        return arguments, None
    if len(arguments) != len(parameters) - len(outputs) or not arguments:
        raise _miscounted(program, len(arguments))
    given = iter(arguments)
    full = tuple(
        make_tensor(arguments[0], _wanted(one, _fixed_shape(one)))
        if one in outputs
        else next(given)
        for one in parameters
    )
    made = [one for one, of in zip(full, parameters, strict=True) if of in outputs]
    return full, made[0] if len(made) == 1 else tuple(made)


def split_arguments(
    program: Program, arguments: tuple[Any, ...]
) -> tuple[Mapping[str, int | float], Mapping[str, Shape]]:
    """The scalars of a call, and the shapes of its tensors, by parameter.

    Raises ExecutionError (AR505) for a tensor where a number is wanted, or the other
    way round.
    """
    scalars: dict[str, int | float] = {}
    shapes: dict[str, Shape] = {}
    for parameter, given in zip(program.host.parameters, arguments, strict=True):
        if isinstance(parameter.type, ScalarType):
            scalars[parameter.name] = _number(parameter, given)
        else:
            shapes[parameter.name] = _shape(parameter, given)
    return scalars, shapes


def lend_arguments(program: Program, arguments: tuple[Any, ...]) -> dict[str, Lent]:
    """The memory of a call's tensors, by the name of their buffer.

    Raises ExecutionError (AR505) for a tensor that does not fit its parameter.
    """
    return {
        parameter.name: lend(given, _wanted(parameter, shape))
        for parameter, given, shape in _tensors(program, arguments)
    }


def _tensors(
    program: Program, arguments: tuple[Any, ...]
) -> Iterator[tuple[Parameter, Any, Shape]]:
    """Each tensor parameter with what is passed for it and the shape it must have."""
    for parameter, given in zip(program.host.parameters, arguments, strict=True):
        if isinstance(parameter.type, TensorType):
            passed = zip(parameter.type.shape, given.shape, strict=True)
            shape = tuple(
                dim if isinstance(dim, int) else int(extent) for dim, extent in passed
            )
            yield parameter, given, shape


def _wanted(parameter: Parameter, shape: Shape) -> HostTensor:
    assert isinstance(parameter.type, TensorType)
    return HostTensor(
        name=parameter.name,
        shape=shape,
        dtype=parameter.type.dtype,
        is_written=parameter.direction is not Direction.IN,
    )


def _fixed_shape(parameter: Parameter) -> Shape:
    assert isinstance(parameter.type, TensorType)
    dims = parameter.type.shape
    shape = tuple(dim for dim in dims if isinstance(dim, int))
    if len(shape) != len(dims):
        raise _misfit(parameter, "nothing, and its shape is not constant", "pass it")
    return shape


def _number(parameter: Parameter, given: Any) -> int | float:
    value = given.item() if hasattr(given, "item") else given
    if not isinstance(value, int | float):
        raise _misfit(parameter, f"a {type(given).__name__}", "pass one number")
    return value


def _shape(parameter: Parameter, given: Any) -> Shape:
    if not hasattr(given, "shape"):
        raise _misfit(parameter, f"a {type(given).__name__}", "pass a tensor")
    shape = tuple(int(extent) for extent in given.shape)
    type_ = parameter.type
    if isinstance(type_, TensorType) and len(type_.shape) != len(shape):
        wanted = f"pass one of {len(type_.shape)} dimensions"
        raise _misfit(parameter, f"a tensor of shape {list(shape)}", wanted)
    return shape


def _misfit(parameter: Parameter, seen: str, help: str) -> ExecutionError:
    message = f"{parameter.name} gets {seen}"
    return ExecutionError([diagnose(codes.AR505, message, help=help)])


def _miscounted(program: Program, given: int) -> ExecutionError:
    names = [one.name for one in program.host.parameters]
    return ExecutionError(
        [
            diagnose(
                codes.AR505,
                f"{program.name} takes {len(names)} arguments, got {given}",
                help=f"pass {', '.join(names)}, or leave all outputs out",
            )
        ]
    )
