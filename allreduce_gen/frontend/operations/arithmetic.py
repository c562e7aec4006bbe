"""Elementwise arithmetic of tiles, and casts."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from allreduce_gen.frontend.affine import concrete
from allreduce_gen.frontend.calls import Call
from allreduce_gen.frontend.context import Typed
from allreduce_gen.frontend.machine import Frame
from allreduce_gen.frontend.types import (
    INDEX,
    INT64,
    ScalarType,
    TileType,
    format_type,
)
from allreduce_gen.ir.events import Cast, Combine, Scale, Tile, TileOp
from allreduce_gen.spec import DType

_MODES = ("none", "rint", "round", "floor", "ceil", "trunc", "odd")


def _binary(op: TileOp, *, scales: bool = True) -> Callable[[Call], Typed]:
    """An operation between two tiles or, where it `scales`, a tile and a number."""

    def read(call: Call) -> Typed:
        arguments = call.bind("lhs rhs")
        left = call.tile(arguments["lhs"], "lhs")
        right = call.argument(arguments["rhs"])
        assert isinstance(left.type, TileType)
        if isinstance(right.type, TileType):
            return _combine(call, op, left, right)
        if isinstance(right.type, ScalarType) and scales:
            return _scale(call, op, left, right)
        raise call.refuse(
            f"rhs is {format_type(right.type)}",
            help="pass a tile; `pl.maximum` and its kin take numbers too",
        )

    return read


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
    source = call.tile(arguments["input"], "input")
    assert isinstance(source.type, TileType)
    dtype = call.data_type(arguments["target_type"]).dtype
    if dtype is None:
        raise call.refuse(
            "no such cast is interpreted", help="cast to pl.FP32 or alike"
        )
    mode = _mode(call, arguments.get("mode"))
    shape, run_source = source.type.shape, source.run
    origin = call.context.origin(call.node)

    def run(frame: Frame) -> Tile:
        agent, tile = frame.agent, run_source(frame)
        cast = agent.new_tile(shape, dtype, tile.valid)
        agent.emit(Cast(tile=cast, source=tile, mode=mode, origin=origin))
        return cast

    return Typed(TileType(shape, source.type.valid, dtype), run)


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
ARITHMETIC: Mapping[str, Callable[[Call], Typed]] = {
    **{f"pl.{name}": _binary(op) for name, op in _BINARY.items()},
    **{
        f"pl.tile.{name}": _binary(op, scales=op not in (TileOp.MAX, TileOp.MIN))
        for name, op in _BINARY.items()
    },
    "pl.cast": _cast,
    "pl.tile.cast": _cast,
}
