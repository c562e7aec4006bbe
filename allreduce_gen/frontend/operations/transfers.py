"""Regions to and from peers' windows: put and get, through the chip."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Mapping

from allreduce_gen.frontend.affine import Scalar, concrete
from allreduce_gen.frontend.calls import Call, run_integers
from allreduce_gen.frontend.context import Run, Typed
from allreduce_gen.frontend.machine import Frame
from allreduce_gen.frontend.types import NoneType, TensorType
from allreduce_gen.ir.events import Load, RemoteLoad, RemoteStore, Store, Tile
from allreduce_gen.ir.memory import Region, View

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
        to, of = target.run(frame), source.run(frame)
        peer = transfer.peer(frame, to)
        for tile, read, written in transfer.pieces(frame, of, to):
            agent.emit(Load(tile=tile, region=read, origin=origin))
            agent.emit(
                RemoteStore(
                    tile=tile, peer=peer, region=written, atomic=atomic, origin=origin
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
        to, of = target.run(frame), source.run(frame)
        peer = transfer.peer(frame, of)
        for tile, read, written in transfer.pieces(frame, of, to):
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
        if len(given) not in (0, 3):
            raise call.refuse(
                f"only {', '.join(given)} of {_REGION} given",
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
        self._origin = call.context.origin(call.node)
        self._read_box(call, arguments, target.type, source.type, bool(given))
        self._chunk = _chunk(call, arguments)

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
        self._is_given = is_given
        whole = is_given or source.shape == target.shape
        if not whole or rank != len(target.shape):
            raise call.refuse(
                "source and destination have different shapes",
                help="give dst_offsets, src_offsets and shape",
            )

    def pieces(
        self, frame: Frame, source: View, target: View
    ) -> Iterator[tuple[Tile, Region, Region]]:
        """What is on the chip meanwhile, piece by piece, and its two ends."""
        agent = frame.agent
        shape = self._shape if self._is_given else source.shape
        of, to = self.source(frame), self.target(frame)
        for first, extents in _cut(shape, self._chunk(shape)):
            tile = agent.new_tile(extents, self._dtype, extents)
            yield (
                tile,
                agent.region(source, _shifted(of, first), extents),
                agent.region(target, _shifted(to, first), extents),
            )

    def peer(self, frame: Frame, window: View) -> int:
        """Whose window it is."""
        peer = concrete(self._peer(frame))
        return frame.machine.peer_of(window.buffer, peer, frame.rank, self._origin)


def _shifted(offsets: tuple[Scalar, ...], by: tuple[int, ...]) -> tuple[Scalar, ...]:
    return tuple(one + more for one, more in zip(offsets, by, strict=True))


def _cut(
    shape: tuple[int, ...], chunk: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The boxes of at most `chunk` that tile `shape`: where each starts, its shape."""
    starts = (range(0, whole, part) for whole, part in zip(shape, chunk, strict=True))
    for first in itertools.product(*starts):
        yield (
            first,
            tuple(
                min(part, whole - at)
                for at, whole, part in zip(first, shape, chunk, strict=True)
            ),
        )


def _chunk(
    call: Call, arguments: dict[str, ast.expr]
) -> Callable[[tuple[int, ...]], tuple[int, ...]]:
    """How large a piece is, for a transfer of a shape."""
    rows, columns = (
        _constant(call, arguments[name], name) if name in arguments else 0
        for name in ("chunk_rows", "chunk_cols")
    )
    double = arguments.get("pipeline")
    if isinstance(double, ast.Constant) and double.value and not (rows and columns):
        raise call.refuse(
            "pipeline=True needs chunks", help="give chunk_rows and chunk_cols"
        )

    def pieces(whole: tuple[int, ...]) -> tuple[int, ...]:
        *outer, last = whole
        inner = [rows or extent for extent in outer[-1:]]
        return (
            *(1 if rows else extent for extent in outer[:-1]),
            *inner,
            columns or last,
        )

    return pieces


def _constant(call: Call, node: ast.expr, what: str) -> int:
    value = call.integer(node, what).constant
    if not isinstance(value, int) or value < 0:
        raise call.refuse(
            f"{what} `{ast.unparse(node)}` is no constant from 0 on",
            help="give a literal or a module constant",
        )
    return value


TRANSFERS: Mapping[str, Callable[[Call], Typed]] = {
    "pld.tensor.put": _put,
    "pld.tensor.get": _get,
}
