"""The flag that renews goldens, and the check that each golden is used."""

from __future__ import annotations

from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-goldens",
        action="store_true",
        help="write what is emitted over the golden files",
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest):
    """A function that holds text against the golden file of that name."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-goldens"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"no golden {name}: run pytest --update-goldens"
        assert text == path.read_text(encoding="utf-8")

    return compare
