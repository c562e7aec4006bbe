"""Stand-ins in place of pypto's modules while a file is loaded."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from .standins import Operation, make_module


@contextlib.contextmanager
def installed(
    modules: Mapping[str, ModuleType], folder: Path, *, takes_any: bool = False
) -> Iterator[None]:
    """`modules` can be imported, and so can what lies in `folder`.

    Where it `takes_any`, a module of pypto that is not among them can be, too.
    Afterwards everything is as it was: a real pypto is neither used nor shadowed.
    """
    wanted = dict(modules)
    if "torch" not in sys.modules and importlib.util.find_spec("torch") is None:
        wanted["torch"] = _absent("torch")
    before, search = dict(sys.modules), list(sys.path)
    finder = _AnyPypto()
    for name in filter(_is_pypto, before):
        del sys.modules[name]
    sys.modules.update(wanted)
    sys.path.insert(0, str(folder))
    if takes_any:
        sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        if takes_any:
            sys.meta_path.remove(finder)
        sys.path[:] = search
        for name in sys.modules.keys() - before.keys():
            if name in wanted or _is_pypto(name) or _lies_in(name, folder):
                del sys.modules[name]
        sys.modules.update(before)


class _AnyPypto(MetaPathFinder, Loader):
    """Finds modules of pypto that have no stand-in: what they hold is refused in use.

    So a script may import what it does not need here, such as a profiler.
    """

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if _is_pypto(name) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return make_module(spec.name, {})

    def exec_module(self, module: ModuleType) -> None:
        """It is complete as it was made."""


def _is_pypto(name: str) -> bool:
    return name.partition(".")[0] == "pypto"


def _absent(name: str) -> ModuleType:
    """A module that is not installed: it can be imported, and is refused when used."""
    module = ModuleType(name)

    def missing(attribute: str) -> Operation:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return Operation(f"{name}.{attribute}")

    module.__dict__["__getattr__"] = missing
    return module


def _lies_in(name: str, folder: Path) -> bool:
    """Whether the module `name` belongs to what was found in `folder` itself."""
    top = sys.modules.get(name.partition(".")[0])
    file = getattr(top, "__file__", None)
    if not isinstance(file, str):
        return False
    place = Path(file)
    home = place.parent.parent if place.stem == "__init__" else place.parent
    return home.resolve() == folder
