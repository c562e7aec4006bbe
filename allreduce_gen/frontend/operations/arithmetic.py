"""Elementwise arithmetic of tiles, and casts."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from allreduce_gen.frontend.affine import concrete
from allreduce_gen.frontend.calls import Call
from allreduce_gen.frontend.context import Typed, constant
from allreduce_gen.frontend.loaded import FromMemoryError, Loaded, convert
from allreduce_gen.frontend.machine import Frame
from allreduce_gen.frontend.types import (
    FLOAT,
    INDEX,
    INT64,
    ScalarType,
    TileType,
    format_type,
)
from allreduce_gen.ir.events import Cast, Combine, Scale, Tile, TileOp
from allreduce_gen.spec import DType

from .memory import load_whole

_MODES = ("none", "rint", "round", "floor", "ceil", "trunc", "odd")


def _binary(
    op: TileOp, *, scales: bool = True, loads: bool = False
) -> Callable[[Call], Typed]:
    """An operation between two tiles or, where it `scales`, a tile and a number.

    Where it `loads`, tensors may stand for tiles that hold all of them.
    """

    def read(call: Call) -> Typed:
        arguments = call.bind("lhs rhs")
        if loads:
            left = load_whole(call, call.context.expression(arguments["lhs"]))
            right = load_whole(call, call.argument(arguments["rhs"]))
        else:
            left = call.tile(arguments["lhs"], "lhs")
            right = call.argument(arguments["rhs"])
        assert isinstance(left.type, TileType)
        if isinstance(right.type, TileType):
            made = _combine(call, op, left, right)
            return _as_tensor(made) if loads else made
        if isinstance(right.type, ScalarType) and scales:
            return _scale(call, op, left, right)
        raise call.refuse(
            f"rhs is {format_type(right.type)}",
            help="pass a tile; `pl.maximum` and its kin take numbers too",
        )

    return read


def _as_tensor(made: Typed) -> Typed:
    """What a tensor operation computes: no tile to pypto's frontend."""
    assert isinstance(made.type, TileType)
    type_ = dataclasses.replace(made.type, memory="DDR")
    return dataclasses.replace(made, type=type_)


def _combine(call: Call, op: TileOp, left: Typed, right: Typed) -> Typed:
    assert isinstance(left.type, TileType)
    assert isinstance(right.type, TileType)
    if left.type.shape != right.type.shape:
        raise call.refuse(
            f"the tiles have shapes {list(left.type.shape)} and "
            f"{list(right.type.shape)}",
            help="use tiles of one shape",
        )
    shape = left.type.shape
    dtype = _promoted(left.type.dtype, right.type.dtype)
    run_left, run_right = left.run, right.run
    origin = call.context.origin(call.node)

    def run(frame: Frame) -> Tile:
        agent = frame.agent
        one, other = run_left(frame), run_right(frame)
        tile = agent.new_tile(shape, dtype, one.valid)
        agent.emit(Combine(tile=tile, op=op, left=one, right=other, origin=origin))
        return tile

    return Typed(TileType(shape, left.type.valid, dtype), run)


def _promoted(left: DType, right: DType) -> DType:
    """The element type between two: floats before integers, then the wider one."""
    return max(left, right, key=lambda one: (one.is_float, one.nbytes))


def _scale(call: Call, op: TileOp, left: Typed, right: Typed) -> Typed:
    assert isinstance(left.type, TileType)
    if right.constant is None and right.type in (INDEX, INT64):
        raise call.refuse(
            f"rhs is {format_type(right.type)}, which tile instructions do not take",
            help="use a literal or an INT32 scalar",
        )
    shape, dtype, source = left.type.shape, left.type.dtype, left.run
    number, origin = right.run, call.context.origin(call.node)

    def run(frame: Frame) -> Tile:
        agent, tile = frame.agent, source(frame)
        value = number(frame)
        scalar = value if isinstance(value, float) else float(concrete(value))
        scaled = agent.new_tile(shape, dtype, tile.valid)
        agent.emit(Scale(tile=scaled, op=op, source=tile, scalar=scalar, origin=origin))
        return scaled

    return Typed(TileType(shape, left.type.valid, dtype), run)


def _cast(call: Call) -> Typed:
    arguments = call.bind("input target_type mode?")
    source = call.argument(arguments["input"])
    if isinstance(source.type, ScalarType):
        return _cast_scalar(call, arguments, source)
    source = call.tile(arguments["input"], "input")
    assert isinstance(source.type, TileType)
    dtype = call.data_type(arguments["target_type"]).dtype
    if dtype is None:
        raise call.refuse(
            "no such cast is interpreted", help="cast to pl.FP32 or alike"
        )
    if dtype is source.type.dtype:
        raise call.refuse(f"the tile is {dtype.name} already", help="use it as it is")
    mode = _mode(call, arguments.get("mode"))
    shape, run_source = source.type.shape, source.run
    origin = call.context.origin(call.node)

    def run(frame: Frame) -> Tile:
        agent, tile = frame.agent, run_source(frame)
        cast = agent.new_tile(shape, dtype, tile.valid)
        agent.emit(Cast(tile=cast, source=tile, mode=mode, origin=origin))
        return cast

    return Typed(TileType(shape, source.type.valid, dtype), run)


def _cast_scalar(call: Call, arguments: dict[str, ast.expr], source: Typed) -> Typed:
    """A scalar as a number of another type."""
    target = call.data_type(arguments["target_type"])
    dtype, run_source = target.dtype, source.run

    def run(frame: Frame) -> Any:
        value = run_source(frame)
        if isinstance(value, Loaded):
            if dtype is None:
                raise FromMemoryError
            return convert(frame, value, dtype)
        if dtype is not None and dtype.is_float:
            return float(value if isinstance(value, float) else concrete(value))
        return int(value) if isinstance(value, float) else value

    return Typed(ScalarType(target.name), run)


def _mode(call: Call, node: ast.expr | None) -> str:
    if node is None:
        return "round"
    value = node.value if isinstance(node, ast.Constant) else None
    if value in _MODES:
        return str(value)
    if isinstance(value, int) and 0 <= value < len(_MODES):
        return _MODES[value]
    raise call.refuse(
        f"`mode={ast.unparse(node)}` is no rounding mode",
        help=f"the modes are {', '.join(_MODES)}",
    )


_BINARY = {
    "add": TileOp.ADD,
    "sub": TileOp.SUB,
    "mul": TileOp.MUL,
    "div": TileOp.DIV,
    "maximum": TileOp.MAX,
    "minimum": TileOp.MIN,
}


def _with_number(op: TileOp) -> Callable[[Call], Typed]:
    """An operation between a tile and a number only: `pl.tile.adds` and its kin."""

    def read(call: Call) -> Typed:
        arguments = call.bind("lhs rhs")
        left = call.tile(arguments["lhs"], "lhs")
        right = call.argument(arguments["rhs"])
        if not isinstance(right.type, ScalarType):
            raise call.refuse(
                f"rhs is {format_type(right.type)}, wanted a number",
                help="use `pl.add` and its kin for two tiles",
            )
        return _scale(call, op, left, right)

    return read


def _negate(call: Call) -> Typed:
    tile = call.tile(call.bind("tile")["tile"], "tile")
    return _scale(call, TileOp.MUL, tile, constant(FLOAT, -1.0))


ARITHMETIC: Mapping[str, Callable[[Call], Typed]] = {
    **{f"pl.{name}": _binary(op) for name, op in _BINARY.items()},
    **{
        f"pl.tile.{name}": _binary(op, scales=op not in (TileOp.MAX, TileOp.MIN))
        for name, op in _BINARY.items()
    },
    **{f"pl.tensor.{name}": _binary(op, loads=True) for name, op in _BINARY.items()},
    **{
        f"pl.tile.{name}s": _with_number(op)
        for name, op in _BINARY.items()
        if op not in (TileOp.MAX, TileOp.MIN)
    },
    "pl.neg": _negate,
    "pl.tile.neg": _negate,
    "pl.cast": _cast,
    "pl.tile.cast": _cast,
}
