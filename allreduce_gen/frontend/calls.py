"""Reading calls: arguments by position or name, checked against what is wanted."""

from __future__ import annotations

import ast
import enum
from dataclasses import dataclass
from typing import TypeVar

from .affine import Scalar, concrete
from .closures import data_type, outer_value, try_evaluate
from .context import Context, Run, Typed
from .lists import read_list
from .machine import Frame
from .operators import is_integer
from .standins import DataType
from .types import TensorType, TileType, TupleType, format_type

E = TypeVar("E", bound=enum.Enum)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operation, while it is read. `name` is the operation's."""

    context: Context
    node: ast.Call
    name: str

    def refuse(self, message: str, *, help: str) -> Exception:
        """The AR703 to raise for this call."""
        return self.context.refuse(self.node, f"`{self.name}`: {message}", help=help)

    def bind(self, signature: str) -> dict[str, ast.expr]:
        """The arguments by name.

        `signature` lists names in order; `?` marks those that may be left out, and
        those after `*` go by keyword only.
        """
        positional, _, keywords = (part.split() for part in signature.partition("*"))
        names = [name.rstrip("?") for name in [*positional, *keywords]]
        if len(self.node.args) > len(positional):
            raise self._misused(
                f"takes {len(positional)} arguments, got {len(self.node.args)}", names
            )
        bound = dict(zip(names, self.node.args, strict=False))
        for keyword in self.node.keywords:
            if keyword.arg not in names:
                raise self._misused(f"has no argument `{keyword.arg}=`", names)
            if keyword.arg in bound:
                raise self._misused(f"gets `{keyword.arg}` twice", names)
            bound[keyword.arg] = keyword.value
        for name in [*positional, *keywords]:
            if not name.endswith("?") and name not in bound:
                raise self._misused(f"lacks `{name}`", names)
        return bound

    def _misused(self, problem: str, names: list[str]) -> Exception:
        return self.refuse(problem, help=f"its arguments are {', '.join(names)}")

    def argument(self, node: ast.expr) -> Typed:
        """An argument: an expression, or a number that an attribute names outside."""
        if isinstance(node, ast.Attribute):
            value = try_evaluate(self.context, node)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return outer_value(self.context, node, value)
        return self.context.expression(node)

    def integer(self, node: ast.expr, what: str) -> Typed:
        """An argument that is an integer scalar."""
        typed = self.argument(node)
        if not is_integer(typed.type):
            raise self.refuse(
                f"{what} `{ast.unparse(node)}` is {format_type(typed.type)}, wanted "
                "an integer",
                help=f"give one integer for {what}",
            )
        return typed

    def integers(self, node: ast.expr, what: str, count: int) -> tuple[Typed, ...]:
        """An argument that lists `count` integers."""
        typed = read_list(self.context, self.node, node)
        items = typed.items
        if not isinstance(typed.type, TupleType) or len(items) != count:
            raise self.refuse(
                f"{what} `{ast.unparse(node)}`: wanted a list of {count} integers",
                help=f"give one integer for each of the {count} dimensions",
            )
        for item in items:
            if not is_integer(item.type):
                raise self.refuse(
                    f"{what} `{ast.unparse(node)}` holds {format_type(item.type)}",
                    help=f"give one integer for each of the {count} dimensions",
                )
        return items

    def shape(self, node: ast.expr, count: int | None = None) -> tuple[int, ...]:
        """An argument that lists a tile's extents, which are constants."""
        if count is None:
            count = len(read_list(self.context, self.node, node).items)
        items = self.integers(node, "shape", count)
        extents = tuple(item.constant for item in items)
        if not extents or not all(isinstance(one, int) and one > 0 for one in extents):
            raise self.refuse(
                f"shape `{ast.unparse(node)}` is not made of positive constants",
                help="make tile shapes constant; cut the last tile with valid_shape",
            )
        return tuple(int(one) for one in extents if one is not None)

    def tensor(self, node: ast.expr, what: str) -> Typed:
        """An argument that is a tensor or a window."""
        typed = self.context.expression(node)
        if not isinstance(typed.type, TensorType):
            raise self.refuse(
                f"{what} `{ast.unparse(node)}` is {format_type(typed.type)}, wanted "
                "a tensor",
                help=f"pass a parameter of type pl.Tensor or pld.DistributedTensor as "
                f"{what}",
            )
        return typed

    def window(self, node: ast.expr, what: str) -> Typed:
        """An argument that is a window: memory that peers may read."""
        typed = self.tensor(node, what)
        assert isinstance(typed.type, TensorType)
        if not typed.type.is_window:
            raise self.refuse(
                f"{what} `{ast.unparse(node)}` is {format_type(typed.type)}, which "
                "peers cannot reach",
                help="pass a pld.DistributedTensor, made by pld.window",
            )
        return typed

    def tile(self, node: ast.expr, what: str) -> Typed:
        """An argument that is a tile."""
        typed = self.context.expression(node)
        if not isinstance(typed.type, TileType) or typed.type.memory == "DDR":
            raise self.refuse(
                f"{what} `{ast.unparse(node)}` is {format_type(typed.type)}, wanted "
                "a tile",
                help="load it first: `pl.load(tensor, offsets, shape)`",
            )
        return typed

    def member(self, node: ast.expr, kind: type[E]) -> E:
        """An argument that is a member of an enumeration."""
        value = try_evaluate(self.context, node)
        if not isinstance(value, kind):
            raise self.refuse(
                f"`{ast.unparse(node)}` is no {kind.__name__}",
                help=f"{kind.__name__} has {', '.join(kind.__members__)}",
            )
        return value

    def data_type(self, node: ast.expr) -> DataType:
        """An argument that is an element type."""
        return data_type(self.context, node)


def run_integers(items: tuple[Typed, ...]) -> Run:
    """The values of several integers, which may be affine."""
    runs = tuple(item.run for item in items)

    def run(frame: Frame) -> tuple[Scalar, ...]:
        return tuple(one(frame) for one in runs)

    return run


def run_concrete(items: tuple[Typed, ...]) -> Run:
    """The values of several integers that must be the same in all rounds."""
    runs = tuple(item.run for item in items)

    def run(frame: Frame) -> tuple[int, ...]:
        return tuple(concrete(one(frame)) for one in runs)

    return run
