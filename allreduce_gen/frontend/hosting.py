"""The host's parameters as values: how many ranks there are, its tensors' memory."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from allreduce_gen.ir.memory import Buffer, BufferKind, View

from .closures import known_dims
from .parameters import bind_view
from .program import Function, Parameter, Program
from .refusals import refusal
from .standins import Direction
from .types import Dynamic, ScalarType, TensorType

_KINDS = {
    Direction.IN: BufferKind.INPUT,
    Direction.OUT: BufferKind.OUTPUT,
    Direction.INOUT: BufferKind.INOUT,
}

Shapes = Mapping[str, tuple[int, ...]]
"""The shapes of the tensors that are passed, by parameter."""


def count_ranks(host: Function, asked: int | None, shapes: Shapes) -> int:
    """How many ranks run `host`: as asked, and as its tensors say.

    Raises CompileError AR703 where they disagree, or none says it.
    """
    extents = list(_rank_extents(host, shapes))
    if asked is None and not extents:
        raise refusal(
            host.file,
            host.line,
            f"the tensors of {host.name} do not say how many ranks there are",
            help="give the number of ranks (--ranks)",
        )
    ranks = extents[0][1] if asked is None else asked
    for parameter, extent in extents:
        if extent != ranks:
            raise refusal(
                host.file,
                parameter.line,
                f"{parameter.name} has {extent} entries for {ranks} ranks",
                help=f"run the program with {extent} ranks: pypto itself would give "
                "wrong results, not an error",
            )
    return ranks


def _rank_extents(host: Function, shapes: Shapes) -> Iterator[tuple[Parameter, int]]:
    """Each tensor's dimension that counts ranks, where it is known.

    It is the one that is indexed; where no tensor is, it is the leading one of all.
    """
    positions = _rank_positions(host)
    for one in host.parameters:
        if not isinstance(one.type, TensorType):
            continue
        position = positions.get(one.name, None if positions else 0)
        if position is None or position >= len(one.type.shape):
            continue
        dim = one.type.shape[position]
        if isinstance(dim, int):
            yield one, dim
        elif one.name in shapes:
            yield one, shapes[one.name][position]


def _rank_positions(host: Function) -> dict[str, int | None]:
    """Which index of each tensor that has any counts ranks: None where none does."""
    found: dict[str, int | None] = {}
    nodes = [node for statement in host.body for node in ast.walk(statement)]
    devices = {name for node in nodes for name in _device_names(node)}
    for node in nodes:
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Tuple(elts=indices)):
                is_rank = [
                    isinstance(one, ast.Name) and one.id in devices for one in indices
                ]
                at = is_rank.index(True) if any(is_rank) else None
                if found.get(name) is None:
                    found[name] = at
            case ast.Subscript(value=ast.Name(id=name)):
                found[name] = 0
    return found


def _device_names(node: ast.AST) -> Iterator[str]:
    """The variables that `node`, a dispatch, takes as its device."""
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg == "device" and isinstance(keyword.value, ast.Name):
                yield keyword.value.id


def is_bound(program: Program, num_ranks: int | None, shapes: Shapes) -> bool:
    """Whether `program` can be traced with what is known before it is called."""
    host = program.host
    if num_ranks is None and not list(_rank_extents(host, shapes)):
        return False
    known = _known_dims(host, num_ranks or 1, shapes)
    dims = [
        dim
        for one in host.parameters
        if isinstance(one.type, TensorType)
        for dim in one.type.shape
    ]
    return all(isinstance(dim, int) or dim in known for dim in dims)


def bind_host(
    host: Function, ranks: int, scalars: Mapping[str, int | float], shapes: Shapes
) -> tuple[dict[Any, Any], tuple[Buffer, ...]]:
    """The host's parameters as values, and the buffers of its tensors.

    Raises CompileError AR703 for a scalar or a dimension that is not known.
    """
    values: dict[Any, Any] = _known_dims(host, ranks, shapes)
    buffers = []
    for parameter in host.parameters:
        match parameter.type:
            case ScalarType():
                values[parameter.name] = _scalar(host, parameter, scalars)
            case TensorType() as type_:
                view = _view(host, parameter, type_, values)
                buffers.append(view.buffer)
                values[parameter.name] = view
            case _:
                raise refusal(
                    host.file,
                    parameter.line,
                    f"{parameter.name} has no shape until {host.name} is called",
                    help="annotate its shape, or run the script that calls it",
                )
    return values, tuple(buffers)


def _known_dims(host: Function, ranks: int, shapes: Shapes) -> dict[Any, Any]:
    """Dynamic dimensions: from the tensors passed, else where ranks are counted."""
    known: dict[Any, Any] = {}
    positions = _rank_positions(host)
    for one in host.parameters:
        if not isinstance(one.type, TensorType):
            continue
        for position, dim in enumerate(one.type.shape):
            if not isinstance(dim, Dynamic):
                continue
            if one.name in shapes:
                known.setdefault(dim, shapes[one.name][position])
            elif position == positions.get(one.name, 0):
                known.setdefault(dim, ranks)
    names = known_dims(known)
    for one in host.parameters:
        for dim in one.type.shape if isinstance(one.type, TensorType) else ():
            if isinstance(dim, Dynamic) and dim not in known:
                extent = dim.extent(names)
                known |= {} if extent is None else {dim: extent}
    return known


def _scalar(
    host: Function, parameter: Parameter, scalars: Mapping[str, int | float]
) -> int | float:
    if parameter.name not in scalars:
        raise refusal(
            host.file,
            parameter.line,
            f"{host.name} takes the scalar {parameter.name}, which has no value",
            help=f"give {parameter.name} a value, such as 1",
        )
    return scalars[parameter.name]


def _view(
    host: Function, parameter: Parameter, type_: TensorType, values: dict[Any, Any]
) -> View:
    """A tensor of the host, all of it."""
    for position, dim in enumerate(type_.shape):
        if isinstance(dim, Dynamic) and dim not in values:
            raise refusal(
                host.file,
                parameter.line,
                f"dimension {position} of {parameter.name}, {dim.name}, is not known",
                help="make it a constant, or run the script that calls the program",
            )
    shape = tuple(dim if isinstance(dim, int) else values[dim] for dim in type_.shape)
    buffer = Buffer(
        name=parameter.name,
        kind=_KINDS[parameter.direction],
        nbytes=prod(shape) * type_.dtype.nbytes,
    )
    whole = View(name=parameter.name, buffer=buffer, shape=shape, dtype=type_.dtype)
    return bind_view(parameter.name, type_, whole, values)
