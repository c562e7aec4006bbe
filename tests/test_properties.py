"""What holds for every spec that can be planned."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from allreduce_gen.engines.audit import audit_all_reduce
from allreduce_gen.engines.base import RunOptions, Schedule
from allreduce_gen.ir.compare import compare
from allreduce_gen.ir.events import RemoteLoad, RemoteStore
from allreduce_gen.ir.expand import expand
from allreduce_gen.ir.recognise import call_buffers, recognise_op
from allreduce_gen.ir.widen import flatten
from allreduce_gen.pipeline import generate
from allreduce_gen.planner import check_spec, make_plan
from allreduce_gen.spec import AllReduceSpec, DType, Form, ReduceOp, Reuse

SPECS = st.builds(
    AllReduceSpec,
    num_ranks=st.integers(1, 9),
    size=st.one_of(st.integers(1, 200), st.integers(1, 200_000)),
    dtype=st.sampled_from(
        [DType.FP32, DType.FP16, DType.BF16, DType.INT32, DType.INT16]
    ),
    op=st.sampled_from(ReduceOp),
    reuse=st.sampled_from(Reuse),
    form=st.sampled_from(Form),
    in_place=st.booleans(),
    tile=st.sampled_from([None, None, 64, 4096]),
).filter(lambda spec: not any(check_spec(spec)))

quick = settings(max_examples=40, deadline=None, derandomize=True)


@quick
@given(SPECS, st.sampled_from(Schedule), st.integers(0, 100))
def test_every_kernel_is_sound_and_right_on_every_rank(
    spec: AllReduceSpec, schedule: Schedule, seed: int
) -> None:
    kernel = generate(spec)
    calls = call_buffers(kernel.trace)
    assert calls is not None
    if spec.num_ranks > 1:
        assert recognise_op(kernel.trace) is spec.op
    options = RunOptions(seed=seed, schedule=schedule)
    audit_all_reduce(kernel.trace, calls, spec.op, options)
    assert kernel.warnings == ()


@quick
@given(SPECS)
def test_remote_bytes_are_those_of_the_chunks(spec: AllReduceSpec) -> None:
    trace = expand(make_plan(spec))
    moved = sum(
        event.region.num_elems * spec.dtype.nbytes
        for one in trace.agents
        for event in flatten(one.events)
        if isinstance(event, RemoteLoad | RemoteStore) and event.peer != one.agent.rank
    )
    gathered = (spec.num_ranks - 1) * spec.size_bytes
    # Chunks are read whole, and together they are at most a block a rank too long.
    padding = (spec.num_ranks - 1) * spec.num_ranks * 32
    assert 2 * gathered <= moved <= 2 * (gathered + padding)


@quick
@given(SPECS)
def test_a_plan_expands_to_the_same_trace_every_time(spec: AllReduceSpec) -> None:
    assert compare(expand(make_plan(spec)), expand(make_plan(spec))) is None


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.integers(2, 17), st.integers(1, 1 << 40))
def test_source_and_trace_do_not_grow_with_size(num_ranks: int, size: int) -> None:
    kernel = generate(AllReduceSpec(num_ranks=num_ranks, size=size))
    assert len(kernel.source) < 12_000
    assert all(len(one.events) < 12 * num_ranks + 8 for one in kernel.trace.agents)
