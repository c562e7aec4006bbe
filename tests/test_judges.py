"""The checks and the second judge, on random small programs, must not differ.

docs/explanation/two-judges.md says what is compared, and where the checks may be
stricter.
"""

from __future__ import annotations

from pathlib import Path

from hypothesis import example, given, settings

from allreduce_gen.checks import Analysis, check_deadlock, find_races
from allreduce_gen.checks.counterexample import MOST_FINDINGS
from allreduce_gen.diagnostics import codes
from allreduce_gen.engines.judge import Verdict, judge
from allreduce_gen.exploration import check_and_explore
from allreduce_gen.frontend import load_source, trace_program
from allreduce_gen.ir.trace import Trace

from .random_programs import Kind, Step, scripts, to_source, to_trace

Pairs = set[tuple[int | None, ...]]
RACES = (codes.AR401, codes.AR402, codes.AR403)
EXAMPLES = settings(max_examples=200, deadline=None, derandomize=True)


def _wait(row: int, column: int, expected: int = 1) -> Step:
    return Step(kind=Kind.WAIT, at=(row, column), value=expected)


def _notify(peer: int, row: int, column: int, *, is_set: bool = False) -> Step:
    return Step(kind=Kind.NOTIFY, peer=peer, at=(row, column), is_set=is_set)


def _race_lines(verdict: Verdict, trace: Trace) -> Pairs:
    events = {one.agent: one.events for one in trace.agents}
    return {
        tuple(sorted(events[agent][at].origin.line or 0 for agent, at in pair))
        for pair in ((race.first, race.second) for race in verdict.races)
    }


def _checked_lines(analysis: Analysis) -> Pairs:
    program = analysis.program
    return {
        tuple(sorted(program.event(point).origin.line or 0 for point in race.pair))
        for race in find_races(analysis)
        if race.code is not codes.AR411
    }


def compare_judges(trace: Trace) -> None:
    """Fail where the two differ about `trace`."""
    verdict = judge(trace)
    assert not verdict.undecided
    analysis = Analysis(trace)
    found = {one.code for one in check_deadlock(analysis)}
    if codes.AR309 not in found:
        assert bool(found) == (verdict.deadlock is not None)
        races, theirs = _race_lines(verdict, trace), _checked_lines(analysis)
        assert races <= theirs
        assert races == theirs or codes.AR306 in found
    explored = [  # nobody writes y, and the second judge does not care
        one for one in check_and_explore(trace).findings if one.code is not codes.AR405
    ]
    assert any(one.is_error for one in explored) == (not verdict.is_sound)
    shown = [one for one in explored if one.code in RACES][:MOST_FINDINGS]
    if codes.AR306 not in found:
        assert all(one.counterexample for one in shown)
    assert all(one.code is not codes.AR309 for one in explored)


_BESIDE_A_SET = (
    (_wait(0, 0, 2), _wait(1, 1), _notify(1, 1, 0)),
    (_notify(0, 0, 0), _wait(1, 0), _notify(0, 1, 1)),
    (_notify(0, 0, 0, is_set=True),),
)
"""Ranks 0 and 1 wait for each other; only in some orders does rank 0 get that far."""


@EXAMPLES
@given(program=scripts())
@example(program=_BESIDE_A_SET)
def test_the_judges_agree_about_traces(program: tuple[tuple[Step, ...], ...]) -> None:
    compare_judges(to_trace(program))


@settings(EXAMPLES, max_examples=60)
@given(program=scripts())
def test_the_judges_agree_about_source(program: tuple[tuple[Step, ...], ...]) -> None:
    text = to_source(program)
    (loaded,) = load_source(text.encode(), "random.py", Path.cwd())
    traced = trace_program(loaded)
    assert traced.diagnostics == ()
    compare_judges(traced.trace)
    ours, theirs = judge(to_trace(program)), judge(traced.trace)
    assert len(ours.races) == len(theirs.races)
    assert (ours.deadlock is None) == (theirs.deadlock is None)
