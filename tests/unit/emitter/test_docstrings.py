"""What a kernel says about itself is so, and fits on its lines."""

from __future__ import annotations

import ast
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allreduce_gen.checks import certify
from allreduce_gen.emitter import emit
from allreduce_gen.emitter.statements import LINE_LENGTH
from allreduce_gen.ir.cost import measure_cost
from allreduce_gen.ir.expand import expand
from allreduce_gen.planner import check_spec, make_plan
from allreduce_gen.spec import (
    Accumulate,
    Algorithm,
    AllReduceSpec,
    BarrierKind,
    DType,
    Form,
    Order,
    ReduceOp,
    Reuse,
    Transfer,
)


def source_of(**fields: object) -> str:
    plan = make_plan(AllReduceSpec(**fields))  # type: ignore[arg-type]
    return emit(plan, measure_cost(plan, expand(plan)))


def doc_of(**fields: object) -> str:
    doc = ast.get_docstring(ast.parse(source_of(**fields)))
    assert doc is not None
    return doc


def unfolded(text: str) -> str:
    return " ".join(text.split())


def canonical(node: ast.expr) -> str:
    """An expression of ranks as the certificate writes it."""
    if isinstance(node, ast.Name):
        return node.id
    assert isinstance(node, ast.BinOp)
    parts = sorted(
        map(canonical, (node.left, node.right)), key=lambda text: (-len(text), text)
    )
    return f"({' + '.join(parts)})"


DRAWN = (
    Algorithm.RECURSIVE_DOUBLING,
    Algorithm.HALVING_DOUBLING,
    Algorithm.TREE,
    Algorithm.DOUBLE_TREE,
    Algorithm.HIERARCHICAL,
)


@pytest.mark.parametrize("ranks", range(2, 9))
@pytest.mark.parametrize("algorithm", DRAWN)
def test_the_order_drawn_is_that_of_the_certificate(
    algorithm: Algorithm, ranks: int
) -> None:
    fields = {"num_ranks": ranks, "size": 128 * ranks, "algorithm": algorithm}
    doc = doc_of(**fields)
    drawn = re.findall(r"^    (?:\w+ half: )?((?:\(*x\d).*)$", doc, re.MULTILINE)
    ranges = certify(expand(make_plan(AllReduceSpec(**fields))))  # type: ignore[arg-type]
    said = [canonical(ast.parse(one, mode="eval").body) for one in drawn]
    assert said[0] == ranges[0].expression
    assert said[-1] in {one.expression for one in ranges}
    assert len(said) == (2 if algorithm is Algorithm.DOUBLE_TREE else 1)


@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize("ranks", [4, 5, 12, 17])
def test_every_algorithm_states_its_order(algorithm: Algorithm, ranks: int) -> None:
    doc = unfolded(doc_of(num_ranks=ranks, size=4096, algorithm=algorithm))
    sentence = doc.split("Every rank gets the same bits: ")[1].split(" Run it")[0]
    assert re.search(r"in the order|nearer child first|(\w|apart) first", sentence)


@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize("dtype", [DType.FP32, DType.BF16])
@pytest.mark.parametrize("transfer", Transfer)
def test_a_mean_says_that_it_scales(
    transfer: Transfer, dtype: DType, algorithm: Algorithm
) -> None:
    fields = {"num_ranks": 6, "size": 192, "algorithm": algorithm, "dtype": dtype}
    spec = AllReduceSpec(**fields, transfer=transfer)  # type: ignore[arg-type]
    if any(check_spec(spec)):
        return
    source = source_of(**fields, transfer=transfer, op=ReduceOp.AVG)
    doc = ast.get_docstring(ast.parse(source))
    assert doc is not None
    last = "scaled by 1/P" + (" and rounded once" if dtype is DType.BF16 else "")
    assert re.search(f", (then|and the sum is) {last}", unfolded(doc))
    drawn = re.findall(r"^    rank .*(?:\n +\|.*)*", doc, re.MULTILINE)
    assert ["scale" in one for one in drawn] == [True] * 6
    body = source[len(doc) :]
    assert re.search(r"# .*\b(?:then\s+(?:# )?|Stage out: )scale the sum", body)


@pytest.mark.parametrize(
    ("ranks", "size", "says"),
    [
        (4, 3, "rank 0 owns all 3 elements, the others none."),
        (2, 1, "rank 0 owns the one element, the other none."),
        (4, 18, "2 of 8 elements, one of 2, one empty."),
        (4, 8, "one of 8 elements, 3 empty."),
        (7, 1000003, "6 of 142864 elements, one of 142819."),
    ],
)
def test_chunks_are_told_apart(ranks: int, size: int, says: str) -> None:
    assert f"Chunks are whole 32-byte blocks: {says}" in doc_of(
        num_ranks=ranks, size=size
    )


@pytest.mark.parametrize("algorithm", [Algorithm.TWO_PHASE, Algorithm.RING])
@pytest.mark.parametrize("transfer", Transfer)
def test_chunks_without_elements_are_not_drawn(
    transfer: Transfer, algorithm: Algorithm
) -> None:
    if algorithm is Algorithm.RING and transfer is Transfer.PUSH:
        return
    doc = doc_of(num_ranks=4, size=12, algorithm=algorithm, transfer=transfer)
    assert set(re.findall(r"\bc\d", doc)) == {"c0", "c1"}


@pytest.mark.parametrize(
    ("fields", "share"),
    [
        ({"num_ranks": 7, "size": 1000003, "dtype": DType.BF16}, "each rank's share"),
        ({"num_ranks": 3, "size": 18}, "each rank's share"),
        ({"num_ranks": 4, "size": 18}, "the busiest rank's share"),
    ],
)
def test_a_ragged_card_has_the_total(fields: dict[str, object], share: str) -> None:
    doc = doc_of(**fields)
    most = int(re.findall(r"remote reads +(\d+) B", doc)[0])
    total = re.findall(rf"all ranks +(\d+) B   the above is {share}", doc)
    spec = AllReduceSpec(**fields)  # type: ignore[arg-type]
    cost = measure_cost(plan := make_plan(spec), expand(plan))
    assert (most, [cost.total_remote_bytes]) == (cost.remote_bytes, [*map(int, total)])


def test_an_even_card_has_none() -> None:
    assert "all ranks  " not in doc_of(num_ranks=4, size=4096)


def test_in_place_says_what_it_saves() -> None:
    doc = doc_of(num_ranks=3, size=18, in_place=True)
    assert "windows             96 B   data; 96 B less than with two windows\n" in doc


@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize("barrier", [BarrierKind.ALL_PEER, BarrierKind.DISSEMINATION])
def test_lowered_slots_have_a_comment(
    barrier: BarrierKind, algorithm: Algorithm
) -> None:
    source = source_of(
        num_ranks=5,
        size=100,
        algorithm=algorithm,
        reuse=Reuse.SELF_CLEARING,
        barrier=barrier,
    )
    assert "only ever count up" not in source
    before = re.split(r"value=-1", source)[:-1]
    assert before
    for text in before:
        comment = text.rindex("# ")
        assert text[comment:].startswith(("# Lower the slot", "# Reset: lower"))


@pytest.mark.parametrize("groups", [(1, 4), (4, 1), (2, 2)])
def test_barriers_of_two_levels_have_letters_in_a_row(groups: tuple[int, int]) -> None:
    source = source_of(
        num_ranks=4, size=64, algorithm=Algorithm.HIERARCHICAL, groups=groups
    )
    letters = re.findall(r"# Barrier (\w),", source)
    assert letters == [*("ABCD" if groups == (2, 2) else "AB")]
    assert set(re.findall(r"\| ([A-D])(?= \|)", source)) == set(letters)


@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize("transfer", Transfer)
def test_a_last_barrier_is_in_the_schedule(
    transfer: Transfer, algorithm: Algorithm
) -> None:
    fields = {"num_ranks": 6, "size": 192, "algorithm": algorithm}
    spec = AllReduceSpec(**fields, transfer=transfer, reuse=Reuse.EPOCH)  # type: ignore[arg-type]
    if any(check_spec(spec)):
        return
    source = source_of(**fields, transfer=transfer, reuse=Reuse.EPOCH)
    last = re.findall(r"# Barrier (\w): everybody is done", source)
    drawn = re.findall(r"^    rank .*(?:\n +\|.*)*", source, re.MULTILINE)
    for letter in last:
        assert f"\n{letter}: " in source
        assert [f"| {letter}" in one for one in drawn] == [True] * 6
    assert bool(last) == ("everybody is done" in source)


@pytest.mark.parametrize("algorithm", [Algorithm.MESH, Algorithm.TWO_PHASE])
@pytest.mark.parametrize("barrier", BarrierKind)
def test_rows_are_those_of_barriers(barrier: BarrierKind, algorithm: Algorithm) -> None:
    source = source_of(num_ranks=20, size=640, algorithm=algorithm, barrier=barrier)
    several = algorithm is Algorithm.TWO_PHASE
    in_rounds = barrier is not BarrierKind.ALL_PEER
    assert ("let the next one pass" in source) == several
    assert ("each notifies another peer" in unfolded(source)) == in_rounds
    assert ("row for each barrier round" in source) == (several and not in_rounds)
    assert ("2 ** BARRIER_ROUNDS >= NUM_RANKS" in source) == in_rounds


@pytest.mark.parametrize("ranks", [2, 3])
def test_two_ranks_have_one_neighbour(ranks: int) -> None:
    source = source_of(
        num_ranks=ranks,
        size=96,
        algorithm=Algorithm.BIDIRECTIONAL_RING,
        reuse=Reuse.EPOCH,
    )
    assert ("oth neighbours" in source) == (ranks == 3)
    assert ("other rank has made" in source) == (ranks == 2)


@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize("size", [18, 65, 4097, 1000003])
@pytest.mark.parametrize("tile", [None, 64])
def test_a_mesh_moves_one_mesh(
    tile: int | None, size: int, algorithm: Algorithm
) -> None:
    fields = {"num_ranks": 3, "size": size, "dtype": DType.FP16, "tile": tile}
    mesh = AllReduceSpec(**fields, algorithm=Algorithm.MESH)  # type: ignore[arg-type]
    spec = AllReduceSpec(**fields, algorithm=algorithm)  # type: ignore[arg-type]
    if any(check_spec(spec)):
        return
    whole, cost = (
        measure_cost(plan := make_plan(one), expand(plan)) for one in (mesh, spec)
    )
    assert cost.mesh_bytes == whole.mesh_bytes == whole.remote_bytes


def test_one_element_is_one() -> None:
    assert "a copy of 1 FP32 element.\n" in doc_of(num_ranks=1, size=1)


SPECS = st.builds(
    AllReduceSpec,
    num_ranks=st.sampled_from([1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 64]),
    size=st.sampled_from([1, 3, 17, 4096, 65537, 1000003, 1 << 40]),
    algorithm=st.sampled_from(Algorithm),
    dtype=st.sampled_from([DType.FP32, DType.BF16, DType.FP16, DType.UINT16]),
    op=st.sampled_from(ReduceOp),
    platform=st.sampled_from(["a2a3sim", "a5sim"]),
    accumulate=st.sampled_from(Accumulate),
    reuse=st.sampled_from(Reuse),
    form=st.sampled_from(Form),
    transfer=st.sampled_from(Transfer),
    barrier=st.sampled_from(BarrierKind),
    order=st.sampled_from([None, *Order]),
    in_place=st.booleans(),
    tile=st.sampled_from([None, 16384]),
    strict_divisible=st.booleans(),
    because=st.sampled_from(["", "w" * 72]),
).filter(lambda spec: not any(check_spec(spec)))


@settings(max_examples=120, deadline=None, derandomize=True)
@given(SPECS)
def test_no_line_is_too_long_and_no_name_unused(spec: AllReduceSpec) -> None:
    plan = make_plan(spec)
    source = emit(plan, measure_cost(plan, expand(plan)))
    assert [one for one in source.splitlines() if len(one) > LINE_LENGTH] == []
    body = source.split('"""\n', 1)[1]
    names = re.findall(r"^([A-Z_]+) = ", body, re.MULTILINE)
    used = re.sub("#.*", "", body)
    assert [one for one in names if not len(re.findall(rf"\b{one}\b", used)) > 1] == []
