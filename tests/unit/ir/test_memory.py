"""Regions as bytes: contiguous where they are, strided where not, overlap exact."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from allreduce_gen.ir.memory import (
    Buffer,
    BufferKind,
    ByteRuns,
    Region,
    View,
    format_region,
    overlaps,
    region_bytes,
)
from allreduce_gen.spec import DType


def view(*shape: int, dtype: DType = DType.FP32, start: int = 0) -> View:
    buffer = Buffer(name="data", kind=BufferKind.WINDOW, nbytes=1 << 20)
    return View(name="data", buffer=buffer, shape=shape, dtype=dtype, start=start)


def test_full_rows_are_one_run() -> None:
    region = Region(view=view(8, 16), offsets=(2, 0), shape=(3, 16))
    assert region_bytes(region) == ByteRuns(2 * 64, 3 * 64)


def test_part_of_rows_is_strided() -> None:
    region = Region(view=view(8, 16, start=4), offsets=(1, 4), shape=(3, 8))
    assert region_bytes(region) == ByteRuns(4 + 64 + 16, 32, ((3, 64),))


def test_one_element_per_row_and_plane() -> None:
    region = Region(view=view(2, 3, 4), offsets=(0, 1, 2), shape=(2, 2, 1))
    assert list(region_bytes(region).runs()) == [
        (24, 28),
        (40, 44),
        (72, 76),
        (88, 92),
    ]


def test_region_is_named_as_written() -> None:
    region = Region(view=view(8, 4096), offsets=(0, 1024), shape=(1, 1024))
    assert format_region(region) == "data[0, 1024:2048]"


_BOXES = st.tuples(
    st.integers(0, 3), st.integers(0, 3), st.integers(0, 5), st.integers(1, 3)
)


@given(_BOXES, _BOXES, st.integers(0, 40))
def test_overlap_is_that_of_the_byte_sets(
    one: tuple[int, int, int, int], two: tuple[int, int, int, int], start: int
) -> None:
    def box(spec: tuple[int, int, int, int], at: int) -> Region:
        row, more, column, width = spec
        return Region(
            view=view(8, 8, dtype=DType.FP16, start=at),
            offsets=(row, column),
            shape=(1 + more, width),
        )

    def cells(runs: ByteRuns) -> set[int]:
        return set(itertools.chain(*(range(*run) for run in runs.runs())))

    left, right = region_bytes(box(one, 0)), region_bytes(box(two, start))
    assert overlaps(left, right) == bool(cells(left) & cells(right))


def test_a_region_without_elements_touches_nothing() -> None:
    """A last rank that owns nothing may be past the end."""
    empty = Region(view=view(1, 8), offsets=(0, 12), shape=(1, 0))
    whole = region_bytes(Region(view=view(1, 8), offsets=(0, 0), shape=(1, 8)))
    assert not list(range(*next(region_bytes(empty).runs())))
    assert not overlaps(region_bytes(empty), whole)
    assert not overlaps(whole, region_bytes(empty))
    middle = Region(view=view(1, 8), offsets=(0, 4), shape=(1, 0))
    assert not overlaps(region_bytes(middle), whole)
