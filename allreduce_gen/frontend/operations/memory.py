"""Tiles to and from the rank's own memory."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from allreduce_gen.frontend.calls import Call, run_concrete, run_integers
from allreduce_gen.frontend.context import Run, Typed
from allreduce_gen.frontend.machine import Frame
from allreduce_gen.frontend.standins.enums import AtomicType, MemorySpace
from allreduce_gen.frontend.types import (
    TensorType,
    TileType,
)
from allreduce_gen.ir.events import Load, Store, Tile
from allreduce_gen.ir.memory import View

_Valid = tuple[tuple[int | str, ...], Run]


def extents(call: Call, node: ast.expr | None, shape: tuple[int, ...]) -> _Valid:
    """A `valid_shape` argument: its static form, and how to get its numbers."""
    if node is None:
        return shape, lambda _: shape
    with call.context.trusting_indices():
        items = call.integers(node, "valid_shape", len(shape))
    nodes = node.elts if isinstance(node, ast.List | ast.Tuple) else [node] * len(items)
    static = tuple(
        item.constant if isinstance(item.constant, int) else ast.unparse(part)
        for item, part in zip(items, nodes, strict=True)
    )
    for size, extent in zip(static, shape, strict=True):
        if isinstance(size, int) and not 0 <= size <= extent:
            raise call.refuse(
                f"valid_shape {size} is not within the tile's {extent}",
                help="cut the tile to at most its own shape",
            )
    return static, run_concrete(items)


def atomic_argument(call: Call, arguments: dict[str, ast.expr]) -> bool:
    """Whether the `atomic` argument asks to add to what is there."""
    node = arguments.get("atomic")
    return node is not None and call.member(node, AtomicType) is AtomicType.Add


def _load(call: Call) -> Typed:
    arguments = call.bind("tensor offsets shapes valid_shape? target_memory? clamp?")
    tensor = call.tensor(arguments["tensor"], "tensor")
    assert isinstance(tensor.type, TensorType)
    rank = len(tensor.type.shape)
    offsets = run_integers(call.integers(arguments["offsets"], "offsets", rank))
    shape = call.shape(arguments["shapes"], rank)
    valid, run_valid = extents(call, arguments.get("valid_shape"), shape)
    refuse_other_memory(call, arguments)
    dtype, source, origin = (
        tensor.type.dtype,
        tensor.run,
        call.context.origin(call.node),
    )

    def run(frame: Frame) -> Tile:
        agent, size = frame.agent, run_valid(frame)
        region = agent.region(source(frame), offsets(frame), size)
        tile = agent.new_tile(shape, dtype, size)
        agent.emit(Load(tile=tile, region=region, origin=origin))
        return tile

    return Typed(TileType(shape, valid, dtype), run)


def refuse_other_memory(call: Call, arguments: dict[str, ast.expr]) -> None:
    """Refuse tiles anywhere but in Vec memory, and clamped loads."""
    node = arguments.get("target_memory")
    if node is not None and call.member(node, MemorySpace) is not MemorySpace.Vec:
        raise call.refuse(
            f"`{ast.unparse(node)}` is memory of the cube core",
            help="collectives use pl.MemorySpace.Vec, which is the default",
        )
    if "clamp" in arguments:
        raise call.refuse(
            "`clamp=` is not interpreted", help="cut the tile with valid_shape"
        )


def _store(call: Call) -> Typed:
    arguments = call.bind("tile offsets output_tensor shapes? * atomic?")
    if "shapes" in arguments:
        raise call.refuse("`shapes=` is set by the compiler alone", help="leave it out")
    tile = call.tile(arguments["tile"], "tile")
    target = call.tensor(arguments["output_tensor"], "output_tensor")
    assert isinstance(target.type, TensorType)
    assert isinstance(tile.type, TileType)
    rank = len(target.type.shape)
    same_rank(call, tile.type, rank)
    offsets = run_integers(call.integers(arguments["offsets"], "offsets", rank))
    atomic = atomic_argument(call, arguments)
    source, memory, origin = tile.run, target.run, call.context.origin(call.node)

    def run(frame: Frame) -> View:
        agent, stored = frame.agent, source(frame)
        view: View = memory(frame)
        region = agent.region(view, offsets(frame), stored.valid)
        event = Store(tile=stored, region=region, atomic=atomic, origin=origin)
        agent.emit(event)
        return view

    return Typed(target.type, run)


def same_rank(call: Call, tile: TileType, rank: int) -> None:
    """Refuse a tile with another number of dimensions than its memory has."""
    if len(tile.shape) != rank:
        raise call.refuse(
            f"a tile of {len(tile.shape)} dimensions goes to memory of {rank}",
            help="give tile and tensor the same number of dimensions",
        )


MEMORY: Mapping[str, Callable[[Call], Typed]] = {
    "pl.load": _load,
    "pl.tile.load": _load,
    "pl.store": _store,
    "pl.tile.store": _store,
}
