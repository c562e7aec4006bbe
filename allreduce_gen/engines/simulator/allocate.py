"""Memory at the start of a run, and the outputs at its end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import numpy as np

from allreduce_gen.diagnostics import Diagnostic, codes, diagnose
from allreduce_gen.engines.base import Array, Bytes
from allreduce_gen.engines.elements import (
    decode,
    encode,
    memory_dtype,
    poison,
    round_to,
)
from allreduce_gen.errors import ExecutionError
from allreduce_gen.ir.events import Event, RemoteStore, Store
from allreduce_gen.ir.memory import Buffer, BufferKind
from allreduce_gen.ir.trace import Trace
from allreduce_gen.ir.widen import regions
from allreduce_gen.spec import DType

from .memory import Instance, Memory, instance_of

Windows: TypeAlias = dict[Instance, Bytes]
"""The bytes of each rank's instance of each window."""

_FILLED = (BufferKind.INPUT, BufferKind.INOUT)
_RETURNED = (BufferKind.OUTPUT, BufferKind.INOUT)


def element_types(programs: Iterable[tuple[Event, ...]]) -> dict[str, DType]:
    """The element type of each buffer, as its first view in the programs has it."""
    dtypes: dict[str, DType] = {}
    for events in programs:
        for event in events:
            for region in regions(event):
                dtypes.setdefault(region.view.buffer.name, region.view.dtype)
    return dtypes


def allocate(
    trace: Trace,
    programs: Iterable[tuple[Event, ...]],
    inputs: Mapping[str, Array],
    dtypes: Mapping[str, DType],
) -> Memory:
    """Windows are zero, inputs hold the caller's values, all else is poison.

    Raises ExecutionError (AR505) for an input that is missing or does not fit.
    """
    written = {
        event.region.view.buffer.name
        for events in programs
        for event in events
        if isinstance(event, Store | RemoteStore)
    }
    given = read_inputs(trace, inputs, dtypes)
    instances: dict[Instance, Bytes] = make_windows(trace)
    for buffer in trace.buffers:
        if buffer.is_window:
            continue
        if buffer.name in given:
            content = given[buffer.name]
            # The caller's own array is never written to.
            instances[buffer.name, None] = (
                content.copy() if buffer.name in written else content
            )
        else:
            instances[buffer.name, None] = poison(buffer.nbytes)
    return Memory(instances)


def make_windows(trace: Trace) -> Windows:
    """Every rank's instance of every window, all zero."""
    return {
        instance_of(buffer, rank): np.zeros(buffer.nbytes, dtype=np.uint8)
        for buffer in trace.buffers
        if buffer.is_window
        for rank in range(trace.num_ranks)
    }


def read_inputs(
    trace: Trace, inputs: Mapping[str, Array], dtypes: Mapping[str, DType]
) -> dict[str, Bytes]:
    """The bytes of every host buffer that the caller fills, where they lie.

    Raises ExecutionError (AR505) for an input that is missing or does not fit.
    """
    return {
        buffer.name: input_bytes(buffer, inputs.get(buffer.name), dtypes[buffer.name])
        for buffer in trace.buffers
        if buffer.kind in _FILLED and buffer.name in dtypes
    }


def host_memory(trace: Trace, given: Mapping[str, Bytes]) -> dict[str, Bytes]:
    """Every host buffer at the start of a run: as `given`, else poison."""
    return {
        buffer.name: given[buffer.name]
        if buffer.name in given
        else poison(buffer.nbytes)
        for buffer in trace.buffers
        if not buffer.is_window
    }


def input_bytes(buffer: Buffer, given: Array | None, dtype: DType) -> Bytes:
    """The bytes of `given`, where they lie, for a buffer of elements of `dtype`.

    Raises ExecutionError (AR505) where it is missing or does not fit.
    """
    if given is None:
        raise ExecutionError([_unfit(buffer, dtype, "none was given")])
    array = np.ascontiguousarray(given)
    if dtype is DType.BF16 and array.dtype == np.float32:
        array = encode(round_to(array, dtype), dtype)
    if array.dtype != memory_dtype(dtype) or array.nbytes != buffer.nbytes:
        seen = f"{array.size} elements of {array.dtype} were given"
        raise ExecutionError([_unfit(buffer, dtype, seen)])
    return array.reshape(-1).view(np.uint8)


def _unfit(buffer: Buffer, dtype: DType, seen: str) -> Diagnostic:
    wanted = f"{buffer.nbytes // dtype.nbytes} elements of {dtype.value}"
    return diagnose(
        codes.AR505,
        f"input {buffer.name} needs {wanted}, but {seen}",
        help="give an array of that type whose first dimension is the ranks; "
        "bf16 as float32 values or as uint16 bits",
    )


def collect(
    trace: Trace, memory: Memory, dtypes: Mapping[str, DType]
) -> dict[str, Array]:
    """What the host buffers hold that a run writes, one row a rank."""
    return {
        buffer.name: rows(
            memory.bytes_of((buffer.name, None)),
            dtypes.get(buffer.name, DType.UINT8),
            trace.num_ranks,
        )
        for buffer in trace.buffers
        if buffer.kind in _RETURNED
    }


def rows(memory: Bytes, dtype: DType, num_ranks: int) -> Array:
    """The numbers in `memory`, one row a rank where the ranks divide them."""
    whole = memory.size - memory.size % dtype.nbytes
    values = decode(memory[:whole].view(memory_dtype(dtype)), dtype)
    return values if values.size % num_ranks else values.reshape(num_ranks, -1)
