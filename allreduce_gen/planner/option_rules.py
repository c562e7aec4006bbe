"""Which options an algorithm has: every AR107 finding about how the data moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from allreduce_gen.diagnostics import Diagnostic, codes, diagnose
from allreduce_gen.spec import (
    Accumulate,
    Algorithm,
    AllReduceSpec,
    Order,
    Transfer,
)
from allreduce_gen.targets import accumulator

PUSHED = (Algorithm.TWO_PHASE, Algorithm.MESH)
"""Algorithms that are also sound when the writer moves the data."""

ORDERS = {
    Algorithm.TWO_PHASE: (Order.AROUND, Order.ASCENDING),
    Algorithm.MESH: (Order.ASCENDING,),
}
"""Orders that leave all ranks with the same bits, where there is a choice to name."""


def check_options(spec: AllReduceSpec) -> Iterator[Diagnostic]:
    """All options of `spec` that its algorithm or its element type does not have."""
    yield from _check_accumulate(spec)
    yield from _check_in_place(spec)
    yield from _check_transfer(spec)
    yield from _check_order(spec)
    yield from _check_groups(spec)


def _check_accumulate(spec: AllReduceSpec) -> Iterator[Diagnostic]:
    wide = replace(spec, accumulate=Accumulate.WIDE)
    if spec.accumulate is Accumulate.NATIVE and accumulator(wide) is spec.dtype:
        yield diagnose(
            codes.AR107,
            f"{spec.op.value} of {spec.dtype.value} keeps to its type as it is; "
            "--accumulate native means nothing",
            help="leave out --accumulate native",
        )


def _check_in_place(spec: AllReduceSpec) -> Iterator[Diagnostic]:
    if not spec.in_place:
        return
    if spec.algorithm is not Algorithm.TWO_PHASE:
        yield diagnose(
            codes.AR107,
            f"{spec.algorithm.value} has one window as it is; --in-place means nothing",
            help="leave out --in-place",
        )
    elif spec.transfer is Transfer.PUSH:
        yield diagnose(
            codes.AR107,
            "pushed elements need slots of their own; the result cannot take their "
            "place",
            help="leave out --in-place or --transfer push",
        )


def _check_transfer(spec: AllReduceSpec) -> Iterator[Diagnostic]:
    if spec.transfer is Transfer.PUSH and spec.algorithm not in PUSHED:
        yield diagnose(
            codes.AR107,
            f"{spec.algorithm.value} reads from windows; it has no pushed form",
            help=f"leave out --transfer push, or use {_words(PUSHED)}",
        )


def _check_order(spec: AllReduceSpec) -> Iterator[Diagnostic]:
    allowed = ORDERS.get(spec.algorithm, ())
    if spec.order is not None and spec.order not in allowed:
        has = f"it has --order {_words(allowed)}" if allowed else "it has its own"
        yield diagnose(
            codes.AR107,
            f"{spec.algorithm.value} does not combine in the order "
            f"{spec.order.value}: {has}",
            help="leave out --order: every rank gets the same bits as it is",
        )


def _check_groups(spec: AllReduceSpec) -> Iterator[Diagnostic]:
    if spec.groups is None:
        return
    groups, members = spec.groups
    if spec.algorithm is not Algorithm.HIERARCHICAL:
        yield diagnose(
            codes.AR107,
            f"{spec.algorithm.value} has no groups",
            help="leave out --groups, or use --algorithm hierarchical",
        )
    elif groups * members != spec.num_ranks:
        yield diagnose(
            codes.AR107,
            f"{groups} groups of {members} are {groups * members} ranks, "
            f"not {spec.num_ranks}",
            help=f"use one of {_factorings(spec.num_ranks)}, or leave out --groups",
        )


def _factorings(ranks: int) -> str:
    pairs = (f"{one}x{ranks // one}" for one in range(1, ranks + 1) if ranks % one == 0)
    return ", ".join(pairs)


def _words(members: tuple[Algorithm | Order, ...]) -> str:
    return " or ".join(member.value for member in members)
