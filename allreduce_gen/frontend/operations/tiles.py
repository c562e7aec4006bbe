"""Tiles made or cut in place."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from allreduce_gen.frontend.calls import Call
from allreduce_gen.frontend.context import Typed, constant
from allreduce_gen.frontend.machine import Frame
from allreduce_gen.frontend.types import INDEX, ScalarType, TileType, format_type
from allreduce_gen.ir.events import Event, Fill, Reshape, Tile

from .memory import extents, refuse_other_memory


def _set_validshape(call: Call) -> Typed:
    arguments = call.bind("tile valid_rows valid_cols")
    tile = call.tile(arguments["tile"], "tile")
    assert isinstance(tile.type, TileType)
    if len(tile.type.shape) != 2:
        raise call.refuse("wanted a tile of 2 dimensions", help="load it as [rows, n]")
    wanted = ast.List([arguments["valid_rows"], arguments["valid_cols"]], ast.Load())
    valid, run_valid = extents(
        call, ast.copy_location(wanted, call.node), (tile.type.shape)
    )
    type_ = TileType(tile.type.shape, valid, tile.type.dtype, tile.type.memory)
    _refuse_narrow_extents(call, arguments)
    source, origin = tile.run, call.context.origin(call.node)

    def run(frame: Frame) -> Tile:
        whole: Tile
        agent, whole, size = frame.agent, source(frame), run_valid(frame)
        if size == whole.valid:
            return whole  # nothing is cut: no event, so that full tiles can be widened
        cut = agent.new_tile(whole.shape, whole.dtype, size)
        agent.emit(Reshape(tile=cut, source=whole, origin=origin))
        return cut

    return Typed(type_, run)


def _refuse_narrow_extents(call: Call, arguments: dict[str, ast.expr]) -> None:
    for name in ("valid_rows", "valid_cols"):
        type_ = call.integer(arguments[name], name).type
        if isinstance(type_, ScalarType) and type_.bits < 64:
            raise call.refuse(
                f"{name} is {format_type(type_)}, wanted 64 bits",
                help="add or multiply it with an integer literal, which makes it INDEX",
            )


def _create(call: Call) -> Typed:
    arguments = call.bind("shape dtype target_memory?")
    refuse_other_memory(call, arguments)
    return _made(call, arguments, constant(INDEX, 0), is_written=False)


def _full(call: Call) -> Typed:
    arguments = call.bind("shape dtype * value")
    value = call.argument(arguments["value"])
    if value.constant is None:
        raise call.refuse("the value is no constant", help="fill with a literal")
    return _made(call, arguments, value, is_written=True)


def _made(
    call: Call, arguments: dict[str, ast.expr], value: Typed, *, is_written: bool
) -> Typed:
    """A tile that comes from no memory."""
    shape = call.shape(arguments["shape"])
    dtype = call.data_type(arguments["dtype"]).dtype
    if dtype is None:
        raise call.refuse("no such tiles are interpreted", help="use pl.FP32 or alike")
    origin = call.context.origin(call.node)
    number = value.constant

    def run(frame: Frame) -> Tile:
        agent = frame.agent
        tile = agent.new_tile(shape, dtype, shape)
        filled = float(number) if is_written and number is not None else None
        event: Event = Fill(tile=tile, value=filled, origin=origin)
        agent.emit(event)
        return tile

    return Typed(TileType(shape, shape, dtype), run)


TILES: Mapping[str, Callable[[Call], Typed]] = {
    "pl.set_validshape": _set_validshape,
    "pl.tile.set_validshape": _set_validshape,
    "pl.create_tile": _create,
    "pl.tile.create": _create,
    "pl.tile.full": _full,
}
