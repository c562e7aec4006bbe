"""Stand-ins in place of pypto's modules while a file is loaded."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

from .standins import Operation


@contextlib.contextmanager
def installed(modules: Mapping[str, ModuleType], folder: Path) -> Iterator[None]:
    """`modules` can be imported, and so can what lies in `folder`.

    Afterwards everything is as it was: a real pypto is neither used nor shadowed.
    """
    wanted = dict(modules)
    if "torch" not in sys.modules and importlib.util.find_spec("torch") is None:
        wanted["torch"] = _absent("torch")
    before, search = dict(sys.modules), list(sys.path)
    for name in filter(_is_pypto, before):
        del sys.modules[name]
    sys.modules.update(wanted)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path[:] = search
        for name in sys.modules.keys() - before.keys():
            if name in wanted or _is_pypto(name) or _lies_in(name, folder):
                del sys.modules[name]
        sys.modules.update(before)


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
