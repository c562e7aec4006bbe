"""What pypto's collectives take, wherever they are called."""

from __future__ import annotations

import ast

from allreduce_gen.frontend.calls import Call
from allreduce_gen.frontend.closures import try_evaluate
from allreduce_gen.frontend.collectives import Crew
from allreduce_gen.frontend.context import Typed
from allreduce_gen.frontend.standins.enums import ReduceOp
from allreduce_gen.frontend.types import TensorType, format_type
from allreduce_gen.ir.events import TileOp
from allreduce_gen.ir.memory import View
from allreduce_gen.spec import DType

OPS = {
    ReduceOp.Sum: TileOp.ADD,
    ReduceOp.Max: TileOp.MAX,
    ReduceOp.Min: TileOp.MIN,
    ReduceOp.Prod: TileOp.MUL,
}


def reduce_op(call: Call, node: ast.expr | None) -> ReduceOp:
    """Which operator the argument `op` names: the sum where there is none."""
    return ReduceOp.Sum if node is None else call.member(node, ReduceOp)


def signal_of(call: Call, node: ast.expr, dims: int) -> Typed:
    """The signal: a window of INT32 with `dims` dimensions."""
    signal = call.window(node, "signal")
    assert isinstance(signal.type, TensorType)
    if signal.type.dtype is not DType.INT32 or len(signal.type.shape) != dims:
        raise call.refuse(
            f"signal is {format_type(signal.type)}, wanted INT32 of {dims} dimensions",
            help="a mesh signal is [ranks, 1] in kernels; a ring's is "
            "[2 * (ranks - 1), ranks]",
        )
    return signal


def refuse_dtype(call: Call, target: Typed, allowed: tuple[DType, ...]) -> None:
    """Refuse a target of another element type than pypto's builtin takes."""
    assert isinstance(target.type, TensorType)
    if target.type.dtype not in allowed:
        raise call.refuse(
            f"the target is {target.type.dtype.name}, wanted "
            f"{' or '.join(one.name for one in allowed)}",
            help="cast, or write the collective by hand",
        )


def mode_of(call: Call, node: ast.expr | None) -> str:
    """Which schedule: mesh unless said."""
    if node is None:
        return "mesh"
    mode = try_evaluate(call.context, node)
    if mode not in ("mesh", "ring"):
        raise call.refuse(
            f"mode must be ring or mesh, got `{ast.unparse(node)}`",
            help="write the other algorithms by hand, or let allreduce-gen emit them",
        )
    return str(mode)


def root_of(call: Call, node: ast.expr) -> int:
    """The rank that a broadcast starts from."""
    root = call.integer(node, "root").constant
    if not isinstance(root, int) or root < 0:
        raise call.refuse(
            f"root `{ast.unparse(node)}` is no constant from 0 on",
            help="give a literal or a module constant",
        )
    return root


def refuse_rows(call: Call, crew: Crew, target: View) -> View:
    """Refuse a target that has not one row for each rank."""
    if len(target.shape) < 2 or target.shape[0] != crew.size:
        raise call.refuse(
            f"the target has shape {list(target.shape)} for {crew.size} ranks",
            help=f"give it shape [{crew.size}, elements]",
        )
    return target


def refuse_root(call: Call, crew: Crew, root: int) -> None:
    """Refuse a root that is no rank."""
    if root >= crew.size:
        raise call.refuse(
            f"root {root} is not one of {crew.size} ranks",
            help="give a rank from 0 to the number of ranks less one",
        )


def refuse_counts(call: Call) -> Typed:
    """`all_to_all_v`, whose counts only memory knows."""
    raise call.refuse(
        "how many rows are valid is read from memory while it runs",
        help="use pld.tensor.all_to_all with rows of one size",
    )
