"""Callers' tensors, numpy's or torch's, as the arrays that engines take; and back.

torch is no dependency: its tensors are known by their module. What can be shared is
shared: a contiguous array or CPU tensor of the kernel's type is read where it lies, and
an output's memory is the engine's own array.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from allreduce_gen.diagnostics import Diagnostic, codes, diagnose
from allreduce_gen.errors import ExecutionError
from allreduce_gen.spec import DType

from .base import Array
from .elements import encode, memory_dtype

_Restore: TypeAlias = Callable[[Array], Any]
"""From a tile's numbers to a tensor of the caller's kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stacked:
    """All ranks' inputs as one array [ranks, size], and the way back.

    `restore` turns an array [ranks, size] of results into what the caller gave: one
    stacked tensor, or a list of one a rank, with the same shapes.
    """

    values: Array
    restore: _Restore


def stack(inputs: Any, *, num_ranks: int, size: int, dtype: DType) -> Stacked:
    """`inputs`, a tensor [ranks, ...] or a sequence of one tensor [...] a rank.

    Raises ExecutionError (AR505) where the ranks, the elements or the type do not fit.
    """
    if isinstance(inputs, list | tuple):
        return _stack_list(inputs, num_ranks, size, dtype)
    array, restore = _open(inputs, dtype)
    _refuse_unfit(array.shape[:1], array.size, num_ranks, size)
    return Stacked(
        values=array.reshape(num_ranks, size),
        restore=lambda results: restore(results.reshape(array.shape)),
    )


def _stack_list(
    inputs: list[Any] | tuple[Any, ...], num_ranks: int, size: int, dtype: DType
) -> Stacked:
    opened = [_open(one, dtype) for one in inputs]
    arrays = [array for array, _ in opened]
    for array in arrays:
        _refuse_unfit((len(arrays),), len(arrays) * array.size, num_ranks, size)
    if not arrays:
        _refuse_unfit((0,), 0, num_ranks, size)

    def restore(results: Array) -> list[Any]:
        rows = results.reshape(num_ranks, size)
        return [
            back(row.reshape(array.shape))
            for (array, back), row in zip(opened, rows, strict=True)
        ]

    return Stacked(
        values=np.stack([array.reshape(size) for array in arrays]), restore=restore
    )


def _refuse_unfit(
    leading: tuple[int, ...], elems: int, num_ranks: int, size: int
) -> None:
    if leading != (num_ranks,) or elems != num_ranks * size:
        ranks = leading[0] if leading else "no"
        raise ExecutionError(
            [
                diagnose(
                    codes.AR505,
                    f"the kernel takes {num_ranks} ranks of {size} elements, but "
                    f"{ranks} ranks and {elems} elements in all were given",
                    help=f"give one tensor [{num_ranks}, ...] or a list of "
                    f"{num_ranks}, each with {size} elements",
                )
            ]
        )


def _open(tensor: Any, dtype: DType) -> tuple[Array, _Restore]:
    """`tensor` as numpy sees it, and how to make one like it of an array."""
    if type(tensor).__module__.partition(".")[0] == "torch":
        return _open_torch(tensor, dtype)
    array = np.asarray(tensor)
    if array.dtype.name == "bfloat16" and dtype is DType.BF16:  # that of ml_dtypes
        given = array.dtype
        return array.view(np.uint16), lambda one: encode(one, dtype).view(given)
    _refuse_type(array.dtype.name, array.dtype, dtype)
    if dtype is DType.BF16 and array.dtype == np.uint16:
        return array, lambda one: encode(one, dtype)
    return array, lambda one: one


def _open_torch(tensor: Any, dtype: DType) -> tuple[Array, _Restore]:
    torch = sys.modules["torch"]
    if tensor.device.type != "cpu":
        raise ExecutionError([_elsewhere(str(tensor.device))])
    plain = tensor.detach()
    if plain.dtype is torch.bfloat16:  # numpy has no such type: hand over its bits
        _refuse_type("bfloat16", np.dtype(np.uint16), dtype)
        bits = plain.view(torch.int16).numpy().view(np.uint16)
        return bits, lambda one: torch.from_numpy(
            encode(one, dtype).view(np.int16)
        ).view(torch.bfloat16)
    array = plain.numpy()
    _refuse_type(str(plain.dtype).removeprefix("torch."), array.dtype, dtype)
    return array, torch.from_numpy


def _refuse_type(name: str, given: np.dtype[Any], dtype: DType) -> None:
    """BF16 may also be given as float32 values; a 16-bit integer holds its bits."""
    fits = given == memory_dtype(dtype) and (name == "bfloat16") <= (
        dtype is DType.BF16
    )
    if not fits and not (dtype is DType.BF16 and given == np.float32):
        raise ExecutionError(
            [
                diagnose(
                    codes.AR505,
                    f"the kernel takes {dtype.value}, but the inputs hold {name}",
                    help=f"convert them to {memory_dtype(dtype).name}"
                    + (" bits or to float32" if dtype is DType.BF16 else ""),
                )
            ]
        )


def _elsewhere(device: str) -> Diagnostic:
    return diagnose(
        codes.AR505,
        f"an input is on the device {device}, and engines read host memory",
        help="give `tensor.cpu()`",
    )
