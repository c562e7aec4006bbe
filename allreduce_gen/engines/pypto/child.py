"""`python -m allreduce_gen.engines.pypto.child`: compiles and runs for its parent.

It reads requests from stdin and answers on stdout, one JSON object a line; whatever
pypto prints goes to stderr. It ends with its stdin.
"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import numpy as np

from allreduce_gen.diagnostics import Diagnostic, codes, diagnose
from allreduce_gen.engines.base import HostTensor, SourceProgram
from allreduce_gen.engines.elements import poison
from allreduce_gen.errors import EngineError, ExecutionError
from allreduce_gen.spec import DType

from .compiling import compile_here
from .messages import decode, encode, finding_to_json, source_from_json

_TORCH_NAMES = {
    DType.FP32: "float32",
    DType.FP16: "float16",
    DType.BF16: "bfloat16",
}


class Server:
    """Holds one prepared worker of pypto's, for as long as the same program is run."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._key: object = None
        self._worker: Any = None
        self._tensors: dict[str, Any] = {}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """What `request` gives: an output folder, or files with outputs."""
        source = source_from_json(request["source"])
        devices: list[int] | None = request["devices"]
        if request["do"] == "compile":
            compiled = compile_here(source, devices=devices, compile_only=True)
            return {"output_dir": str(compiled.output_dir)}
        self._prepare(source, devices)
        return {"outputs": self._run(source, request)}

    def _prepare(self, source: SourceProgram, devices: list[int] | None) -> None:
        """A worker for `source`; tensors that it shares have to exist before."""
        key = (source, tuple(devices or ()))
        if self._key == key:
            return
        self.close()
        compiled = compile_here(source, devices=devices)
        self._tensors = {one.name: _shared_tensor(one) for one in source.tensors}
        self._worker = self._open.enter_context(compiled.prepare())
        self._key = key

    def _run(self, source: SourceProgram, request: dict[str, Any]) -> dict[str, str]:
        for name, tensor in self._tensors.items():
            given = request["inputs"].get(name)
            content = _bytes_of(tensor)
            content[...] = poison(content.size) if given is None else np.load(given)
        scalars = [request["call"]] * len(source.scalars)
        try:
            self._worker(*self._tensors.values(), *scalars)
        except Exception as error:  # whatever the runtime raises ended the run
            self._key = None
            raise ExecutionError([_run_failed(error)]) from error
        return {
            one.name: _save(request["folder"], one.name, self._tensors[one.name])
            for one in source.tensors
            if one.is_written
        }

    def close(self) -> None:
        self._key = None
        self._open.close()
        self._open = ExitStack()


def _shared_tensor(tensor: HostTensor) -> Any:
    import torch

    dtype = getattr(torch, _TORCH_NAMES.get(tensor.dtype, tensor.dtype.value))
    shared: Any = torch.zeros(tensor.shape, dtype=dtype)
    return shared.share_memory_()


def _bytes_of(tensor: Any) -> Any:
    import torch

    return tensor.reshape(-1).view(torch.uint8).numpy()


def _save(folder: str, name: str, tensor: Any) -> str:
    path = Path(folder) / f"output-{name}.npy"
    np.save(path, _bytes_of(tensor))
    return str(path)


def _run_failed(error: Exception) -> Diagnostic:
    """Its simulator gives up on a blocked rank after some 20 s, with rc -100."""
    text = " ".join(str(error).split())
    late = "-100" in text or "timed out" in text or "timeout" in text.lower()
    return diagnose(
        codes.AR803 if late else codes.AR804,
        f"pypto's run failed: {type(error).__name__}: {text[:300]}",
        help="run it on the simulator here, which names a deadlock and every race",
    )


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer until `requests` ends."""
    server = Server()
    try:
        for line in requests:
            try:
                answer = server.answer(decode(line))
            except EngineError as error:
                answer = {
                    "error": type(error).__name__,
                    "findings": [finding_to_json(one) for one in error.diagnostics],
                }
            answers.write(encode(answer))
            answers.flush()
    finally:
        server.close()


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
