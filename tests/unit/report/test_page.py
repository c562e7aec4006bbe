"""The page: one file, well formed, with everything in it."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest

from allreduce_gen.costmodel import load_model
from allreduce_gen.pipeline import generate
from allreduce_gen.report import format_page
from allreduce_gen.spec import Algorithm, AllReduceSpec

MODEL = load_model("a2a3sim")
_VOID = {"meta", "link", "br"}


class _Reader(HTMLParser):
    """What a page loads from elsewhere, and its text; fails where tags do not pair."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loaded: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _VOID:
            self.open.append(tag)
        self.loaded += [str(value) for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def page() -> str:
    return format_page(generate(AllReduceSpec(num_ranks=4, size=4096)), MODEL)


def test_it_loads_nothing_and_its_tags_pair(page: str) -> None:
    reader = _Reader()
    reader.feed(page)
    assert reader.open == []
    assert reader.loaded == []
    assert "http" not in page
    assert "url(" not in page.replace("url(#", "")


def test_it_shows_verdict_cost_model_graph_and_source(page: str) -> None:
    reader = _Reader()
    reader.feed(page)
    kernel = generate(AllReduceSpec(num_ranks=4, size=4096))
    for part in (
        "clean",
        "uncalibrated",
        "24576",
        "6.429 us",
        "flowchart LR",
        'digraph "two_phase_p4_n4096_fp32"',
        kernel.source,
    ):
        assert part in reader.text


def test_pictures_are_well_formed_svg(page: str) -> None:
    pictures = page.split("<svg")[1:]
    assert len(pictures) == 2
    for one in pictures:
        root = ElementTree.fromstring("<svg" + one.split("</svg>")[0] + "</svg>")
        assert len(root) > 20


def test_the_same_spec_gives_the_same_page(page: str) -> None:
    again = format_page(generate(AllReduceSpec(num_ranks=4, size=4096)), MODEL)
    assert again == page


def test_text_is_escaped() -> None:
    spec = AllReduceSpec(num_ranks=2, size=64, because="a <b> & c")
    text = format_page(generate(spec), MODEL)
    assert "a &lt;b&gt; &amp; c" in text
    assert "<b>" not in text


def test_ports_of_both_ranks_are_said() -> None:
    kernel = generate(AllReduceSpec(num_ranks=4, size=4096, algorithm=Algorithm.MESH))
    assert "port taken by another" in format_page(kernel, MODEL, charges_source=True)
    assert "port taken by another" not in format_page(kernel, MODEL)


def test_one_rank_has_a_page() -> None:
    text = format_page(generate(AllReduceSpec(num_ranks=1, size=64)), MODEL)
    assert "copy_p1" not in text
    assert "0.000 x the bound" in text
