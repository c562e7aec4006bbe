"""Print the matrix; with --write, also keep it in docs/reference/mutations.md."""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor

from .matrix import PAGE, Cell, all_cells, format_page, judge_cell
from .programs import subjects


def _judge(name: str, num_ranks: int) -> Cell:
    (subject,) = (one for one in subjects() if one.name == name)
    return judge_cell(subject, num_ranks)


def main() -> int:
    """Exit 1 where a mutant survives."""
    wanted = [(subject.name, num_ranks) for subject, num_ranks in all_cells()]
    with ProcessPoolExecutor() as pool:
        cells = list(pool.map(_judge, *zip(*wanted, strict=True)))
    page = format_page(cells)
    sys.stdout.write(page)
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page, encoding="utf-8")
    survivors = [one for cell in cells for one in cell.survivors]
    sys.stderr.write("".join(f"{one}\n" for one in survivors))
    return 1 if survivors else 0


if __name__ == "__main__":
    raise SystemExit(main())
