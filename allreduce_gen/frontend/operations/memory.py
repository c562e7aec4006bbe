"""Tiles to and from the rank's own memory."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from allreduce_gen.frontend.calls import Call, run_concrete, run_integers
from allreduce_gen.frontend.context import Run, Typed
from allreduce_gen.frontend.loaded import Loaded, as_tile
from allreduce_gen.frontend.machine import Frame
from allreduce_gen.frontend.standins.enums import AtomicType, MemorySpace
from allreduce_gen.frontend.types import (
    ScalarType,
    TensorType,
    TileType,
    format_type,
)
from allreduce_gen.ir.events import Load, Read, Store, Tile, Write
from allreduce_gen.ir.memory import View

_Valid = tuple[tuple[int | str, ...], Run]


def extents(call: Call, node: ast.expr | None, shape: tuple[int, ...]) -> _Valid:
    """A `valid_shape` argument: its static form, and how to get its numbers."""
    if node is None:
        return shape, lambda _: shape
    items = call.integers(node, "valid_shape", len(shape))
    nodes = node.elts if isinstance(node, ast.List | ast.Tuple) else [node] * len(items)
    static = tuple(
        item.constant if isinstance(item.constant, int) else ast.unparse(part)
        for item, part in zip(items, nodes, strict=True)
    )
    for size, extent in zip(static, shape, strict=True):
        if isinstance(size, int):
            _refuse_outside(call, size, extent)
    measure = run_concrete(items)

    def run(frame: Frame) -> tuple[int, ...]:
        sizes: tuple[int, ...] = measure(frame)
        for size, extent in zip(sizes, shape, strict=True):
            _refuse_outside(call, size, extent, f" on rank {frame.rank}")
        return sizes

    return static, run


def _refuse_outside(call: Call, size: int, extent: int, where: str = "") -> None:
    if not 0 <= size <= extent:
        raise call.refuse(
            f"valid_shape {size}{where} is not within the tile's {extent}",
            help="cut the tile to at most its own shape, and to no less than 0: "
            "`pl.max(pl.min(rest, extent), 0)`",
        )


def atomic_argument(call: Call, arguments: dict[str, ast.expr]) -> bool:
    """Whether the `atomic` argument asks to add to what is there."""
    node = arguments.get("atomic")
    return node is not None and call.member(node, AtomicType) is AtomicType.Add


def _load(call: Call) -> Typed:
    arguments = call.bind("tensor offsets shapes valid_shape? target_memory? clamp?")
    tensor = call.tensor(arguments["tensor"], "tensor")
    assert isinstance(tensor.type, TensorType)
    rank = len(tensor.type.shape)
    offsets = run_integers(_offsets(call, arguments["offsets"], rank))
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

    return Typed(TileType(shape, valid, dtype), run, is_load=True)


def load_whole(call: Call, source: Typed) -> Typed:
    """`source` as a tile: a tensor of known shape is loaded, anything else stays."""
    if not isinstance(source.type, TensorType):
        return source
    shape = tuple(dim for dim in source.type.shape if isinstance(dim, int))
    if len(shape) != len(source.type.shape):
        raise call.refuse(
            "a tensor of unknown shape is computed with", help="load tiles of it"
        )
    dtype, memory = source.type.dtype, source.run
    origin = call.context.origin(call.node)

    def run(frame: Frame) -> Tile:
        agent = frame.agent
        region = agent.region(memory(frame), (0,) * len(shape), shape)
        tile = agent.new_tile(shape, dtype, shape)
        agent.emit(Load(tile=tile, region=region, origin=origin))
        return tile

    return Typed(TileType(shape, shape, dtype), run)


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


def _offsets(call: Call, node: ast.expr, rank: int) -> tuple[Typed, ...]:
    """One integer for each dimension; lists of one are taken for what they hold."""
    if isinstance(node, ast.List | ast.Tuple) and any(map(_holds_one, node.elts)):
        flat = [
            part.elts[0] if _holds_one(part) else part  # type: ignore[attr-defined]
            for part in node.elts
        ]
        node = ast.copy_location(ast.List(flat, ast.Load()), node)
    return call.integers(node, "offsets", rank)


def _holds_one(node: ast.expr) -> bool:
    return isinstance(node, ast.List | ast.Tuple) and len(node.elts) == 1


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
    offsets = run_integers(_offsets(call, arguments["offsets"], rank))
    atomic = atomic_argument(call, arguments)
    source, memory, origin = tile.run, target.run, call.context.origin(call.node)

    def run(frame: Frame) -> View:
        agent, stored = frame.agent, source(frame)
        view: View = memory(frame)
        extents = (1,) * (rank - len(stored.valid)) + stored.valid
        region = agent.region(view, offsets(frame), extents)
        event = Store(tile=stored, region=region, atomic=atomic, origin=origin)
        agent.emit(event)
        return agent.left_by_store(view)

    return Typed(target.type, run)


def same_rank(call: Call, tile: TileType, rank: int) -> None:
    """Refuse a tile with more dimensions than its memory has, or far fewer.

    A tile of two may go to memory of more: its leading extents are then 1.
    """
    if len(tile.shape) != rank and not 2 <= len(tile.shape) < rank:
        raise call.refuse(
            f"a tile of {len(tile.shape)} dimensions goes to memory of {rank}",
            help="give tile and tensor the same number of dimensions",
        )


def _read(call: Call) -> Typed:
    """One element as a scalar, which may go to memory again but decides nothing."""
    arguments = call.bind("src offsets")
    source = call.tensor(arguments["src"], "src")
    assert isinstance(source.type, TensorType)
    offsets = _cell(call, arguments["offsets"], len(source.type.shape))
    dtype, memory = source.type.dtype, source.run
    origin = call.context.origin(call.node)

    def run(frame: Frame) -> Loaded:
        agent, view = frame.agent, memory(frame)
        tile = agent.new_tile((), dtype, ())
        region = agent.region(view, offsets(frame), (1,) * len(view.shape))
        agent.emit(Read(tile=tile, region=region, origin=origin))
        return Loaded(tile)

    return Typed(ScalarType(dtype.name), run)


def _write(call: Call) -> Typed:
    """A scalar to one element."""
    arguments = call.bind("dst offsets value")
    target = call.tensor(arguments["dst"], "dst")
    value = call.argument(arguments["value"])
    assert isinstance(target.type, TensorType)
    if not isinstance(value.type, ScalarType):
        raise call.refuse(
            f"value is {format_type(value.type)}, wanted a scalar",
            help="store tiles with `pl.store(tile, offsets, tensor)`",
        )
    if value.type.name != target.type.dtype.name:
        raise call.refuse(
            f"a scalar of {value.type.name} goes to a tensor of "
            f"{target.type.dtype.name}",
            help=f"cast it: `pl.cast(value, pl.{target.type.dtype.name})`",
        )
    offsets = _cell(call, arguments["offsets"], len(target.type.shape))
    dtype, memory, number = target.type.dtype, target.run, value.run
    origin = call.context.origin(call.node)

    def run(frame: Frame) -> View:
        agent = frame.agent
        view: View = memory(frame)
        tile = as_tile(frame, number(frame), dtype)
        region = agent.region(view, offsets(frame), (1,) * len(view.shape))
        agent.emit(Write(tile=tile, region=region, origin=origin))
        return agent.left_by_store(view)

    return Typed(target.type, run)


def _cell(call: Call, node: ast.expr, rank: int) -> Run:
    """The indices of one element."""
    return run_integers(call.integers(node, "offsets", rank))


MEMORY: Mapping[str, Callable[[Call], Typed]] = {
    "pl.load": _load,
    "pl.tile.load": _load,
    "pl.store": _store,
    "pl.tile.store": _store,
    "pl.read": _read,
    "pl.tensor.read": _read,
    "pl.write": _write,
    "pl.tensor.write": _write,
}
