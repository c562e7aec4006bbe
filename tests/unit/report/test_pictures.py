"""Pictures are drawn from plans and replays, where rank, step and time say."""

from __future__ import annotations

import pytest

from allreduce_gen.costmodel import load_model, replay
from allreduce_gen.ir.expand import expand
from allreduce_gen.planner import make_plan
from allreduce_gen.report.graph_text import format_dot, format_mermaid
from allreduce_gen.report.plan_picture import draw_plan
from allreduce_gen.report.shapes import Box, Curve, Label, Picture
from allreduce_gen.report.timeline_picture import draw_timeline
from allreduce_gen.spec import Algorithm, AllReduceSpec, Transfer

MODEL = load_model("a2a3sim")


def plan_picture(**fields: object) -> Picture:
    plan = make_plan(AllReduceSpec(**fields))  # type: ignore[arg-type]
    return draw_plan(plan, expand(plan))


def timeline(*, charges_source: bool = False, **fields: object) -> Picture:
    spec = AllReduceSpec(**fields)  # type: ignore[arg-type]
    replayed = replay(expand(make_plan(spec)), MODEL, charges_source=charges_source)
    return draw_timeline(replayed, MODEL, spec.num_ranks)


def boxes(picture: Picture, style: str) -> list[Box]:
    return [
        one
        for one in picture.shapes
        if isinstance(one, Box) and style in one.style.split()
    ]


def curves(picture: Picture, style: str) -> list[Curve]:
    return [
        one
        for one in picture.shapes
        if isinstance(one, Curve) and style in one.style.split()
    ]


def test_a_node_a_rank_and_step_in_a_grid() -> None:
    nodes = boxes(plan_picture(num_ranks=4, size=4096), "node")
    assert len(nodes) == 4 * 7
    assert len({one.y for one in nodes}) == 4
    assert len({one.x for one in nodes}) == 7
    assert [one.text for one in nodes[:4]] == [
        "16 KiB",
        "3 notifies",
        "3 waits",
        "12 KiB",
    ]


def test_arrows_go_between_all_pairs_of_two_barriers_and_two_transfers() -> None:
    picture = plan_picture(num_ranks=4, size=4096)
    assert len(curves(picture, "signal")) == 2 * 4 * 3
    assert len(curves(picture, "data")) == 2 * 4 * 3


def test_pushed_data_has_arrows_too() -> None:
    picture = plan_picture(
        num_ranks=3, size=64, algorithm=Algorithm.MESH, transfer=Transfer.PUSH
    )
    assert len(curves(picture, "data")) == 3 * 2


def test_a_loop_is_one_column_under_its_number_of_rounds() -> None:
    picture = plan_picture(num_ranks=4, size=64, algorithm=Algorithm.RING)
    texts = [one.text for one in picture.shapes if isinstance(one, Label)]
    assert texts.count("3 rounds") == 2
    assert len(curves(picture, "signal")) == 2 * 4  # to the right neighbour alone


def test_steps_that_a_rank_leaves_out_have_no_node() -> None:
    picture = plan_picture(num_ranks=3, size=64, algorithm=Algorithm.TREE)
    tips = [one.tip for one in boxes(picture, "node")]
    assert any(tip.startswith("rank 0, add_child: ") for tip in tips)
    assert not any(tip.startswith("rank 1, add_child: ") for tip in tips)


def test_many_ranks_are_cut_with_a_note() -> None:
    picture = plan_picture(num_ranks=16, size=128)
    assert picture.note == "The first 8 of 16 ranks are drawn."
    assert len({one.y for one in boxes(picture, "node")}) == 8


def test_bars_lie_on_their_ranks_row_within_the_picture() -> None:
    picture = timeline(num_ranks=4, size=4096)
    bars = boxes(picture, "bar")
    assert len({one.y for one in bars}) == 4
    assert max(one.x + one.width for one in bars) <= picture.width
    kinds = ("copy", "notify", "latency", "remote", "combine")
    assert {one.style for one in bars} == {f"bar {kind}" for kind in kinds}


def test_every_notify_has_an_arrow() -> None:
    picture = timeline(num_ranks=4, size=4096)
    assert len(curves(picture, "signal")) == 2 * 4 * 3


def test_notifies_on_the_critical_path_stand_out() -> None:
    picture = timeline(num_ranks=4, size=4096, algorithm=Algorithm.TREE)
    assert [one.tip for one in curves(picture, "critical")] == [
        "rank 3 notifies rank 2",
        "rank 2 notifies rank 0",
        "rank 0 notifies rank 2",
        "rank 2 notifies rank 3",
    ]
    assert boxes(picture, "wait") != []


def test_a_port_that_is_taken_shows_only_where_the_source_is_charged() -> None:
    mesh = {"num_ranks": 4, "size": 4096, "algorithm": Algorithm.MESH}
    assert boxes(timeline(**mesh), "queue") == []
    assert len(boxes(timeline(charges_source=True, **mesh), "queue")) > 2


def test_the_critical_path_is_underlined_from_start_to_end() -> None:
    picture = timeline(num_ranks=4, size=4096)
    path, bars = boxes(picture, "critical"), boxes(picture, "bar")
    assert min(one.x for one in path) == pytest.approx(min(one.x for one in bars))
    end = max(one.x + one.width for one in bars)
    assert max(one.x + one.width for one in path) == pytest.approx(end, abs=0.5)


def test_graphs_as_text() -> None:
    plan = make_plan(AllReduceSpec(num_ranks=4, size=4096))
    dot, mermaid = format_dot(plan), format_mermaid(plan)
    assert dot.startswith('digraph "two_phase_p4_n4096_fp32" {\n')
    assert '    stage_in [label="stage_in\\nstage-in"];' in dot
    assert (
        "    notify_staged -> wait_staged [color=darkorange, style=dashed, "
        'label="ROW_STAGED"];' in dot
    )
    assert mermaid.startswith("flowchart LR\n")
    assert '    stage_in ==>|"data"| reduce_scatter' in mermaid
