"""Compiled programs and prepared workers, as a script sees them."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any


class DistributedCompiledProgram:
    """What `ir.compile` returns: call it with host tensors, or prepare a worker."""

    def __init__(self, runner: Any, *, program: Any, platform: str) -> None:
        self.program = program
        self.platform = platform
        self._runner = runner
        self._folder: Path | None = None

    @property
    def output_dir(self) -> Path:
        """A folder with an entry for each function that the host dispatches.

        Nothing is generated, so an entry only says what it stands for.
        """
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="allreduce-gen-"))
            atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
            for part in self._runner.parts:
                place = self._folder / "next_levels" / part
                place.mkdir(parents=True)
                text = f"# {part} is simulated by allreduce-gen: no code is generated\n"
                (place / "kernel_config.py").write_text(text)
        return self._folder

    def __call__(self, *arguments: Any, config: Any = None) -> Any:
        """One call on fresh windows; outputs that are left out are made."""
        del config  # it sizes queues that are not simulated
        prepared = self._runner.prepare(keeps_windows=False, resets_windows=False)
        return prepared(arguments)

    def prepare(
        self,
        config: Any = None,
        *,
        persistent: bool = False,
        reset_persistent_windows: bool | None = None,
        **options: Any,
    ) -> DistributedWorker:
        """A worker for many calls; a persistent one keeps its windows."""
        del config, options
        return DistributedWorker(
            self,
            persistent=persistent,
            reset_persistent_windows=reset_persistent_windows,
        )


class DistributedWorker:
    """A context manager that is called like the program that it was made of."""

    __test__ = False

    def __init__(
        self,
        compiled: DistributedCompiledProgram,
        config: Any = None,
        *,
        persistent: bool = False,
        reset_persistent_windows: bool | None = None,
        **options: Any,
    ) -> None:
        del config, options
        if reset_persistent_windows and not persistent:
            raise ValueError("reset_persistent_windows=True needs persistent=True")
        self._persistent = persistent
        self._resets = persistent and reset_persistent_windows is not False
        self._primary = compiled
        self._prepared: dict[DistributedCompiledProgram, Any] = {}
        self._is_open = True
        self._of(compiled)

    def __enter__(self) -> DistributedWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(self, *arguments: Any, config: Any = None) -> Any:
        """Run the program that the worker was made of."""
        return self.run(self._primary, *arguments, config=config)

    def run(
        self, compiled: DistributedCompiledProgram, *arguments: Any, config: Any = None
    ) -> Any:
        """Run one of the worker's programs."""
        del config
        if not self._is_open:
            raise RuntimeError("the worker is closed")
        return self._of(compiled)(arguments)

    def close(self) -> None:
        """No call may follow."""
        self._is_open = False

    @property
    def _w(self) -> SimpleNamespace:
        """Scripts look here to count how often windows were allocated."""
        made = sum(one.num_allocations for one in self._prepared.values())
        return SimpleNamespace(_next_alloc_id=made)

    def _of(self, compiled: DistributedCompiledProgram) -> Any:
        if compiled not in self._prepared:
            self._prepared[compiled] = compiled._runner.prepare(
                keeps_windows=self._persistent, resets_windows=self._resets
            )
        return self._prepared[compiled]
