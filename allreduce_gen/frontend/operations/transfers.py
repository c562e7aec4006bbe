"""Regions to and from peers' windows: put and get, through the chip."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from allreduce_gen.frontend.affine import Scalar, concrete
from allreduce_gen.frontend.calls import Call, run_integers
from allreduce_gen.frontend.context import Run, Typed
from allreduce_gen.frontend.machine import Frame
from allreduce_gen.frontend.types import NoneType, TensorType
from allreduce_gen.ir.events import Load, RemoteLoad, RemoteStore, Store, Tile

from .memory import atomic_argument

_REGION = "dst_offsets src_offsets shape"


def _put(call: Call) -> Typed:
    """From own memory through the chip to a peer's window."""
    arguments = call.bind(
        f"dst peer src {_REGION.replace(' ', '? ')}? "
        "* atomic? chunk_rows? chunk_cols? pipeline?"
    )
    target = call.window(arguments["dst"], "dst")
    source = call.tensor(arguments["src"], "src")
    transfer = _Transfer(call, arguments, target, source)
    atomic = atomic_argument(call, arguments)
    origin = call.context.origin(call.node)

    def run(frame: Frame) -> None:
        agent = frame.agent
        tile = transfer.tile(frame)
        read = agent.region(source.run(frame), transfer.source(frame), tile.shape)
        written = agent.region(target.run(frame), transfer.target(frame), tile.shape)
        agent.emit(Load(tile=tile, region=read, origin=origin))
        agent.emit(
            RemoteStore(
                tile=tile,
                peer=transfer.peer(frame),
                region=written,
                atomic=atomic,
                origin=origin,
            )
        )

    return Typed(NoneType(), run)


def _get(call: Call) -> Typed:
    """From a peer's window through the chip to own memory."""
    arguments = call.bind(
        f"dst peer src {_REGION.replace(' ', '? ')}? "
        "* chunk_rows? chunk_cols? pipeline?"
    )
    target = call.tensor(arguments["dst"], "dst")
    source = call.window(arguments["src"], "src")
    transfer = _Transfer(call, arguments, target, source)
    origin = call.context.origin(call.node)

    def run(frame: Frame) -> None:
        agent = frame.agent
        tile = transfer.tile(frame)
        read = agent.region(source.run(frame), transfer.source(frame), tile.shape)
        written = agent.region(target.run(frame), transfer.target(frame), tile.shape)
        peer = transfer.peer(frame)
        agent.emit(RemoteLoad(tile=tile, peer=peer, region=read, origin=origin))
        agent.emit(Store(tile=tile, region=written, origin=origin))

    return Typed(NoneType(), run)


class _Transfer:
    """What put and get share: the peer, both offsets, the shape in between."""

    def __init__(
        self,
        call: Call,
        arguments: dict[str, ast.expr],
        target: Typed,
        source: Typed,
    ) -> None:
        given = [name for name in _REGION.split() if name in arguments]
        chunked = {"chunk_rows", "chunk_cols", "pipeline"} & arguments.keys()
        if chunked or len(given) not in (0, 3):
            raise call.refuse(
                "chunked transfers are not interpreted"
                if chunked
                else f"only {', '.join(given)} of {_REGION} given",
                help="give all three of dst_offsets, src_offsets and shape, or none",
            )
        assert isinstance(target.type, TensorType)
        assert isinstance(source.type, TensorType)
        if target.type.dtype is not source.type.dtype:
            raise call.refuse(
                "source and destination have different element types",
                help="cast through a tile instead",
            )
        self._dtype = source.type.dtype
        self._peer = call.integer(arguments["peer"], "peer").run
        self._read_box(call, arguments, target.type, source.type, bool(given))

    def _read_box(
        self,
        call: Call,
        arguments: dict[str, ast.expr],
        target: TensorType,
        source: TensorType,
        is_given: bool,
    ) -> None:
        rank = len(source.shape)
        if is_given:
            to, of = arguments["dst_offsets"], arguments["src_offsets"]
            into = call.integers(to, "dst_offsets", len(target.shape))
            self.target: Run = run_integers(into)
            self.source: Run = run_integers(call.integers(of, "src_offsets", rank))
            self._shape = call.shape(arguments["shape"], rank)
        else:
            self._shape = tuple(one for one in source.shape if isinstance(one, int))
            origin: tuple[Scalar, ...] = (0,) * rank
            self.target = self.source = lambda _: origin
        whole = is_given or source.shape == target.shape
        if not whole or len(self._shape) != len(target.shape):
            raise call.refuse(
                "source and destination have different shapes",
                help="give dst_offsets, src_offsets and shape",
            )

    def tile(self, frame: Frame) -> Tile:
        """What is on the chip meanwhile."""
        return frame.agent.new_tile(self._shape, self._dtype, self._shape)

    def peer(self, frame: Frame) -> int:
        """Whose window it is."""
        return concrete(self._peer(frame))


TRANSFERS: Mapping[str, Callable[[Call], Typed]] = {
    "pld.tensor.put": _put,
    "pld.tensor.get": _get,
}
