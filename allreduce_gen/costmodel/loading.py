"""Cost models from TOML, and back to it.

schema_version = 1
calibrated = false

[platforms.a2a3sim]
alpha_s = 2.0e-6
...
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeGuard

from allreduce_gen.diagnostics import Diagnostic, Location, codes, diagnose
from allreduce_gen.errors import SpecError

from .model import COEFFICIENTS, CostModel

SCHEMA_VERSION = 1

DEFAULTS = Path(__file__).with_name("defaults.toml")
"""The models that come with the package: not measured."""

_HELP = "allreduce-gen calibrate writes a whole cost file; docs/reference/cost-model.md"

_WANTED_FILE = (
    "give --cost-model a TOML file; allreduce-gen calibrate -o FILE writes one"
)


def load_model(platform: str, path: Path | None = None) -> CostModel:
    """The cost model of `platform` from the file at `path`, else the default one.

    Raises SpecError (AR107) with every fault of the file: one that cannot be read, a
    key that is missing or unknown, a value that is no number of at least 0.
    """
    file = path or DEFAULTS
    shown = "the default cost model" if path is None else str(path)
    data = _read(file, shown)
    faults = tuple(_find_faults(data, platform, shown))
    if faults:
        raise SpecError(faults)
    numbers = data["platforms"][platform]
    return CostModel(
        platform=platform,
        is_calibrated=data["calibrated"],
        source=shown,
        **{key: float(numbers[key]) for key in COEFFICIENTS},
    )


def format_model(models: Iterable[CostModel], comments: Iterable[str] = ()) -> str:
    """A cost file that holds `models`, with `comments` at its top."""
    known = list(models)
    calibrated = json.dumps(all(model.is_calibrated for model in known))
    head = [f"# {line}".rstrip() for line in comments]
    head += [f"schema_version = {SCHEMA_VERSION}", f"calibrated = {calibrated}"]
    tables = (
        [
            "",
            f"[platforms.{model.platform}]",
            *(f"{key} = {getattr(model, key)!r}" for key in COEFFICIENTS),
        ]
        for model in known
    )
    return "\n".join([*head, *(line for table in tables for line in table), ""])


def _read(file: Path, shown: str) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no UTF-8 text"
        what = f"cannot be read: {reason[0].lower()}{reason[1:]}"
        raise SpecError([_fault(shown, what, help=_WANTED_FILE)]) from error
    except tomllib.TOMLDecodeError as error:
        raise SpecError([_fault(shown, f"is no TOML: {error}")]) from error


def _find_faults(
    data: Mapping[str, Any], platform: str, shown: str
) -> Iterator[Diagnostic]:
    version = data.get("schema_version")
    if version != SCHEMA_VERSION:
        yield _wanted(shown, "schema_version", version, f"the number {SCHEMA_VERSION}")
    if not isinstance(data.get("calibrated"), bool):
        yield _wanted(shown, "calibrated", data.get("calibrated"), "true or false")
    platforms = data.get("platforms")
    table = platforms.get(platform) if isinstance(platforms, dict) else None
    key = f"platforms.{platform}"
    if not isinstance(table, dict):
        yield _wanted(shown, key, table, f"a table of {', '.join(COEFFICIENTS)}")
        return
    for name in COEFFICIENTS:
        if not _is_cost(table.get(name)):
            wanted = "a number of at least 0"
            yield _wanted(shown, f"{key}.{name}", table.get(name), wanted)
    for name in sorted(table.keys() - COEFFICIENTS.keys()):
        wanted = f"one of {', '.join(COEFFICIENTS)}"
        yield _fault(shown, f"has the unknown key {key}.{name}; wanted {wanted}")


def _is_cost(value: object) -> TypeGuard[int | float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and value >= 0


def _wanted(shown: str, key: str, seen: object, wanted: str) -> Diagnostic:
    if seen is None:
        return _fault(shown, f"lacks {key}; wanted {wanted}")
    return _fault(shown, f"has {key} = {seen!r}; wanted {wanted}")


def _fault(shown: str, what: str, *, help: str = _HELP) -> Diagnostic:
    return diagnose(
        codes.AR107, f"{shown} {what}", help=help, location=Location(file=shown)
    )
