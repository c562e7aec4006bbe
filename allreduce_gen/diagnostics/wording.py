"""Numbers and their nouns, the same in every message."""

from __future__ import annotations


def plural(count: int, word: str, many: str | None = None) -> str:
    """`1 pair`, `2 pairs`."""
    return f"{count} {word if count == 1 else many or word + 's'}"
