"""A run on the real pypto, and a compilation that stops before its assembler."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from allreduce_gen.engines.base import (
    DEFAULT_OPTIONS,
    Array,
    HostTensor,
    RunOptions,
    SourceProgram,
)
from allreduce_gen.engines.simulator.allocate import input_bytes, rows
from allreduce_gen.errors import EngineUnavailableError
from allreduce_gen.ir.memory import Buffer, BufferKind

from .compiling import wrong_devices
from .messages import source_to_json
from .parts import find_parts, missing_part
from .worker import Worker, worker_for


def run_pypto(
    source: SourceProgram,
    inputs: Mapping[str, Array],
    options: RunOptions = DEFAULT_OPTIONS,
) -> dict[str, Array]:
    """Compile `source` and run it once; arrays of [ranks, elements] by tensor name.

    The compiled program and its worker are kept for the next call. Outputs start as
    poison, so that what was not written shows. Scalars are 1, the number of the call.

    Raises EngineUnavailableError (AR701), CompileError (AR702), ExecutionError (AR505
    for inputs that do not fit, AR803, AR804).
    """
    refuse_missing(source.platform, compile_only=False)
    _refuse_devices(source, options)
    worker = worker_for(source.platform)
    files = {}
    for tensor in source.tensors:
        if tensor.name in inputs or not tensor.is_written:
            files[tensor.name] = str(worker.folder / f"input-{tensor.name}.npy")
            np.save(files[tensor.name], _bytes_of(tensor, inputs.get(tensor.name)))
    answer = worker.ask(
        _request("run", source, options)
        | {"inputs": files, "call": 1, "folder": str(worker.folder)},
        options.timeout,
    )
    dtypes = {tensor.name: tensor.dtype for tensor in source.tensors}
    return {
        name: rows(np.load(file), dtypes[name], source.num_ranks)
        for name, file in answer["outputs"].items()
    }


def compile_source(source: SourceProgram, options: RunOptions) -> Path:
    """Compile `source` up to the assembler, and say where pypto left its output.

    Raises EngineUnavailableError (AR701) and CompileError (AR702).
    """
    refuse_missing(source.platform, compile_only=True)
    with closing(Worker(builds_here=True)) as worker:
        return compile_with(worker, source, options)


def compile_with(worker: Worker, source: SourceProgram, options: RunOptions) -> Path:
    """As `compile_source`, in the process of `worker`, which serves one backend."""
    _refuse_devices(source, options)
    answer = worker.ask(_request("compile", source, options), options.timeout)
    return Path(answer["output_dir"])


def refuse_missing(platform: str, *, compile_only: bool) -> None:
    """Raise EngineUnavailableError (AR701) for a part that `platform` needs."""
    missing = missing_part(find_parts(), platform, compile_only=compile_only)
    if missing is not None:
        raise EngineUnavailableError([missing])


def _refuse_devices(source: SourceProgram, options: RunOptions) -> None:
    wrong = wrong_devices(source, options.devices)
    if wrong is not None:
        raise EngineUnavailableError([wrong])


def _request(do: str, source: SourceProgram, options: RunOptions) -> dict[str, Any]:
    devices = None if options.devices is None else list(options.devices)
    return {"do": do, "source": source_to_json(source), "devices": devices}


def _bytes_of(tensor: HostTensor, given: Array | None) -> Array:
    nbytes = int(np.prod(tensor.shape)) * tensor.dtype.nbytes
    buffer = Buffer(name=tensor.name, kind=BufferKind.INPUT, nbytes=nbytes)
    return input_bytes(buffer, given, tensor.dtype)
