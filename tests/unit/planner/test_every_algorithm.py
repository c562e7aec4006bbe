"""Every algorithm is sound, once and three times in a row, and emits what it plans."""

import pytest

from allreduce_gen.pipeline import generate
from allreduce_gen.planner import check_spec
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

OPTIONS = (
    {},
    {"dtype": DType.BF16, "op": ReduceOp.AVG},
    {"dtype": DType.FP16, "accumulate": Accumulate.NATIVE, "tile": 64},
    {"dtype": DType.INT32, "op": ReduceOp.MIN, "form": Form.JIT},
    {"reuse": Reuse.EPOCH},
    {"reuse": Reuse.SELF_CLEARING},
    {"reuse": Reuse.SELF_CLEARING, "barrier": BarrierKind.DISSEMINATION},
)


def spec_of(algorithm: Algorithm, **fields: object) -> AllReduceSpec:
    return AllReduceSpec(algorithm=algorithm, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize("ranks", range(2, 10))
def test_any_number_of_ranks_and_elements_is_proved(
    ranks: int, algorithm: Algorithm
) -> None:
    for size in (1, 7, 1000):
        spec = spec_of(algorithm, num_ranks=ranks, size=size)
        assert generate(spec).warnings == ()


@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize("options", OPTIONS)
def test_every_option_is_proved(
    options: dict[str, object], algorithm: Algorithm
) -> None:
    for ranks, size in ((4, 4096), (6, 1001)):
        spec = spec_of(algorithm, num_ranks=ranks, size=size, **options)
        assert generate(spec).warnings == ()


@pytest.mark.parametrize("algorithm", [Algorithm.TWO_PHASE, Algorithm.MESH])
@pytest.mark.parametrize("order", [None, Order.ASCENDING])
@pytest.mark.parametrize("reuse", Reuse)
def test_pushed_forms_are_proved(
    reuse: Reuse, order: Order | None, algorithm: Algorithm
) -> None:
    for ranks, size in ((2, 64), (4, 4096), (5, 18)):
        spec = spec_of(
            algorithm,
            num_ranks=ranks,
            size=size,
            transfer=Transfer.PUSH,
            reuse=reuse,
            order=order,
        )
        assert generate(spec).warnings == ()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"algorithm": Algorithm.RING, "in_place": True},
            "ring has one window as it is; --in-place means nothing",
        ),
        (
            {"transfer": Transfer.PUSH, "in_place": True},
            "pushed elements need slots of their own; the result cannot take "
            "their place",
        ),
        (
            {"algorithm": Algorithm.TREE, "transfer": Transfer.PUSH},
            "tree reads from windows; it has no pushed form",
        ),
        (
            {"algorithm": Algorithm.MESH, "order": Order.AROUND},
            "mesh does not combine in the order around: it has --order ascending",
        ),
        (
            {"algorithm": Algorithm.RING, "order": Order.ASCENDING},
            "ring does not combine in the order ascending: it has its own",
        ),
        ({"groups": (2, 4)}, "two_phase has no groups"),
        (
            {"algorithm": Algorithm.HIERARCHICAL, "groups": (3, 2)},
            "3 groups of 2 are 6 ranks, not 8",
        ),
    ],
)
def test_options_that_an_algorithm_lacks_are_refused(
    fields: dict[str, object], message: str
) -> None:
    spec = AllReduceSpec(**({"num_ranks": 8, "size": 64} | fields))  # type: ignore[arg-type]
    (finding,) = check_spec(spec)
    assert (finding.code.id, finding.message) == ("AR107", message)
