"""Tiles to and from peers' windows."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from allreduce_gen.frontend.affine import concrete
from allreduce_gen.frontend.calls import Call, run_integers
from allreduce_gen.frontend.closures import try_evaluate
from allreduce_gen.frontend.context import Typed
from allreduce_gen.frontend.machine import Frame
from allreduce_gen.frontend.types import (
    NoneType,
    TensorType,
    TileType,
    format_type,
)
from allreduce_gen.ir.events import RemoteLoad, RemoteStore, Tile
from allreduce_gen.ir.memory import View

from .memory import atomic_argument, extents, load_whole, same_rank


def _remote_load(call: Call) -> Typed:
    arguments = call.bind("target peer offsets shape valid_shape?")
    _refuse_bare_peer(call)
    target = call.window(arguments["target"], "target")
    assert isinstance(target.type, TensorType)
    rank = len(target.type.shape)
    peer = call.integer(arguments["peer"], "peer").run
    offsets = run_integers(call.integers(arguments["offsets"], "offsets", rank))
    shape = call.shape(arguments["shape"], rank)
    valid, run_valid = extents(call, arguments.get("valid_shape"), shape)
    dtype, source, origin = (
        target.type.dtype,
        target.run,
        call.context.origin(call.node),
    )

    def run(frame: Frame) -> Tile:
        agent, size = frame.agent, run_valid(frame)
        view: View = source(frame)
        number = frame.machine.peer_of(
            view.buffer, concrete(peer(frame)), frame.rank, origin
        )
        region = agent.region(view, offsets(frame), size)
        tile = agent.new_tile(shape, dtype, size)
        agent.emit(RemoteLoad(tile=tile, peer=number, region=region, origin=origin))
        return tile

    return Typed(TileType(shape, valid, dtype, memory=None), run, is_load=True)


def _refuse_bare_peer(call: Call) -> None:
    """pypto's parser fails on `peer=` with a literal or an outer integer."""
    for keyword in call.node.keywords:
        node = keyword.value
        if keyword.arg != "peer":
            continue
        is_bare = isinstance(node, ast.Constant | ast.Attribute | ast.UnaryOp) or (
            isinstance(node, ast.Name) and call.context.scope.type_of(node.id) is None
        )
        if is_bare and isinstance(try_evaluate(call.context, node), int):
            raise call.refuse(
                f"`peer={ast.unparse(node)}` is a bare integer, on which pypto's "
                "parser fails",
                help="pass a variable, or `pl.const(0, pl.INT32)`",
            )


def _push_tensor(call: Call) -> Typed:
    """`pld.tensor.remote_store`: what was computed, or all of a tensor."""
    arguments = call.bind("src target peer offsets * atomic?")
    source = load_whole(call, call.context.expression(arguments["src"]))
    return _push(call, arguments, source)


def _remote_store(call: Call) -> Typed:
    arguments = call.bind("tile target peer offsets * atomic?")
    return _push(call, arguments, call.tile(arguments["tile"], "tile"))


def _push(call: Call, arguments: dict[str, ast.expr], tile: Typed) -> Typed:
    target = call.window(arguments["target"], "target")
    assert isinstance(target.type, TensorType)
    if not isinstance(tile.type, TileType):
        raise call.refuse(
            f"the source is {format_type(tile.type)}", help="push a tile or a tensor"
        )
    rank = len(target.type.shape)
    same_rank(call, tile.type, rank)
    if tile.type.dtype is not target.type.dtype:
        raise call.refuse(
            f"a tile of {tile.type.dtype.name} goes to a window of "
            f"{target.type.dtype.name}",
            help="cast the tile first",
        )
    peer = call.integer(arguments["peer"], "peer").run
    offsets = run_integers(call.integers(arguments["offsets"], "offsets", rank))
    atomic = atomic_argument(call, arguments)
    source, memory, origin = tile.run, target.run, call.context.origin(call.node)

    def run(frame: Frame) -> None:
        agent, stored = frame.agent, source(frame)
        view: View = memory(frame)
        extents = (1,) * (rank - len(stored.valid)) + stored.valid
        number = frame.machine.peer_of(
            view.buffer, concrete(peer(frame)), frame.rank, origin
        )
        agent.emit(
            RemoteStore(
                tile=stored,
                peer=number,
                region=agent.region(view, offsets(frame), extents),
                atomic=atomic,
                origin=origin,
            )
        )

    return Typed(NoneType(), run)


REMOTE: Mapping[str, Callable[[Call], Typed]] = {
    "pld.tile.remote_load": _remote_load,
    "pld.remote_load": _remote_load,
    "pld.tile.remote_store": _remote_store,
    "pld.remote_store": _remote_store,
    "pld.tensor.remote_store": _push_tensor,
}
