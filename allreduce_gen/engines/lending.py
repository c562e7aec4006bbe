"""Callers' tensors as bytes that an engine reads and writes where they lie.

A contiguous numpy array or CPU tensor of torch lends its own memory. Any other is
copied, and gets its values back when the run has ended.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from allreduce_gen.diagnostics import codes, diagnose
from allreduce_gen.errors import ExecutionError

from .base import Array, Bytes, HostTensor
from .elements import memory_dtype


@dataclass(frozen=True, slots=True, kw_only=True)
class Lent:
    """A caller's memory; `give_back` hands the results over where it was copied."""

    data: Bytes
    give_back: Callable[[], None]


def lend(tensor: Any, wanted: HostTensor) -> Lent:
    """The bytes of `tensor`, which must be as `wanted` says.

    Raises ExecutionError (AR505) for another kind, shape or element type.
    """
    array = _as_array(tensor, wanted)
    if array.dtype != memory_dtype(wanted.dtype) or array.shape != wanted.shape:
        seen = f"{array.dtype.name} of shape {list(array.shape)}"
        raise _unfit(wanted, seen)
    if array.flags.c_contiguous:
        return Lent(data=array.reshape(-1).view(np.uint8), give_back=lambda: None)
    copy = np.ascontiguousarray(array)

    def give_back() -> None:
        array[...] = copy

    return Lent(data=copy.reshape(-1).view(np.uint8), give_back=give_back)


def _as_array(tensor: Any, wanted: HostTensor) -> Array:
    """`tensor` as numpy sees it: the same memory."""
    if type(tensor).__module__.partition(".")[0] == "torch":
        torch = sys.modules["torch"]
        if tensor.device.type != "cpu":
            raise _unfit(wanted, f"a tensor on the device {tensor.device}")
        plain = tensor.detach()
        if plain.dtype is torch.bfloat16:  # numpy has no such type: its bits
            bits: Array = plain.view(torch.int16).numpy().view(np.uint16)
            return bits
        values: Array = plain.numpy()
        return values
    if not isinstance(tensor, np.ndarray):
        raise _unfit(wanted, f"a {type(tensor).__name__}")
    return tensor.view(np.uint16) if tensor.dtype.name == "bfloat16" else tensor


def make_tensor(like: Any, wanted: HostTensor) -> Any:
    """A tensor of zeros as `wanted` says, of the kind that `like` is."""
    zeros = np.zeros(wanted.shape, memory_dtype(wanted.dtype))
    if type(like).__module__.partition(".")[0] != "torch":
        return zeros
    torch = sys.modules["torch"]
    if wanted.dtype.value == "bf16":
        return torch.from_numpy(zeros.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(zeros)


def _unfit(wanted: HostTensor, seen: str) -> ExecutionError:
    return ExecutionError(
        [
            diagnose(
                codes.AR505,
                f"{wanted.name} gets {seen}, wanted {memory_dtype(wanted.dtype).name} "
                f"of shape {list(wanted.shape)}",
                help="pass a numpy array or a CPU tensor of the type and shape that "
                "the program declares",
            )
        ]
    )
