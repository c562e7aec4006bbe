"""The flags that say what is wanted, the same for every command that takes them."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import click

from allreduce_gen.spec import (
    Accumulate,
    Algorithm,
    AllReduceSpec,
    BarrierKind,
    DType,
    Form,
    Order,
    ReduceOp,
    Reuse,
    Transfer,
)
from allreduce_gen.targets import PLATFORMS

from .choosing import AUTO, choose, cost_model_option
from .words import (
    DEFAULT_PLATFORM,
    DTypeType,
    WordType,
    parse_groups,
    parse_shape,
    parse_size,
)

_Option: TypeAlias = Callable[[Any], Any]
_Command = TypeVar("_Command", bound=Callable[..., Any])


def _word(flag: str, kind: type[enum.Enum], default: enum.Enum, help: str) -> _Option:
    """A flag whose values are the words of `kind`."""
    return click.option(
        flag,
        type=WordType([member.value for member in kind]),
        default=default.value,
        show_default=True,
        help=help,
    )


_ALGORITHM = click.option(
    "--algorithm",
    type=WordType([AUTO, *(member.value for member in Algorithm)]),
    default=Algorithm.TWO_PHASE.value,
    show_default=True,
    help="How the data moves; auto asks the cost model.",
)

_BECAUSE = click.option(
    "--because", default="", help="Why, for the kernel's docstring."
)

_SPEC_OPTIONS = (
    click.option("--ranks", type=int, required=True, help="World size."),
    click.option(
        "--size",
        type=parse_size,
        metavar="N",
        help="Elements a rank; also 64K, 1M, 1G.",
    ),
    click.option(
        "--shape", type=parse_shape, metavar="RxC", help="Or a rank's tensor: 128x4096."
    ),
    _ALGORITHM,
    click.option(
        "--dtype",
        type=DTypeType(),
        default=DType.FP32.value,
        show_default=True,
        help="Element type.",
    ),
    _word("--op", ReduceOp, ReduceOp.SUM, "How elements are combined."),
    click.option(
        "--platform",
        type=WordType(list(PLATFORMS)),
        default=DEFAULT_PLATFORM,
        is_eager=True,  # what --dtype may say depends on it
        show_default=True,
        help="What the kernel is made for.",
    ),
    _word("--accumulate", Accumulate, Accumulate.WIDE, "Type of 16-bit float sums."),
    _word("--reuse", Reuse, Reuse.ONCE, "How windows may persist between calls."),
    _word("--form", Form, Form.PROGRAM, "How the kernel is spelled."),
    _word("--transfer", Transfer, Transfer.PULL, "Who moves data between ranks."),
    _word("--barrier", BarrierKind, BarrierKind.ALL_PEER, "How barriers are made."),
    click.option(
        "--order",
        type=WordType([order.value for order in Order]),
        help="The order of contributions, where there is a choice.",
    ),
    click.option(
        "--groups",
        type=parse_groups,
        metavar="GxS",
        help="Groups for hierarchical: 4x8, 4 of 8 ranks.",
    ),
    click.option("--tile", type=int, help="Most elements in one load or store."),
    click.option("--in-place", is_flag=True, help="One window instead of two."),
    click.option(
        "--strict-divisible",
        is_flag=True,
        help="Refuse a size that the ranks do not divide.",
    ),
    _BECAUSE,
    cost_model_option,
)


def spec_options(command: _Command) -> _Command:
    """All flags that say which all-reduce is wanted."""
    for option in reversed(_SPEC_OPTIONS):
        command = option(command)
    return command


def common_options(command: _Command) -> _Command:
    """The same without what is about one algorithm, for commands that take all."""
    for option in reversed(_SPEC_OPTIONS):
        if option not in (_ALGORITHM, _BECAUSE):
            command = option(command)
    return command


def make_spec(
    *,
    ranks: int,
    size: int | None,
    shape: tuple[int, ...] | None,
    algorithm: str = Algorithm.TWO_PHASE.value,
    cost_model: Path | None = None,
    **words: Any,
) -> AllReduceSpec:
    """The spec that the flags of `spec_options` say; `auto` is settled here.

    Raises UsageError where neither a size nor a shape is given, SpecError for a cost
    file that is no such file.
    """
    if size is None and shape is None:
        raise click.UsageError("--size or --shape is missing: give one of them")
    is_auto = algorithm == AUTO
    spec = AllReduceSpec(
        num_ranks=ranks,
        size=math.prod(shape or ()) if size is None else size,
        shape=shape,
        algorithm=Algorithm.TWO_PHASE if is_auto else Algorithm(algorithm),
        dtype=DType(words.pop("dtype")),
        op=ReduceOp(words.pop("op")),
        accumulate=Accumulate(words.pop("accumulate")),
        reuse=Reuse(words.pop("reuse")),
        form=Form(words.pop("form")),
        transfer=Transfer(words.pop("transfer")),
        barrier=BarrierKind(words.pop("barrier")),
        order=None if (order := words.pop("order")) is None else Order(order),
        **words,
    )
    return choose(spec, cost_model) if is_auto else spec
