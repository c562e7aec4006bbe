"""Every size, rank count, dtype, operator, reuse and window mode: is each one right?"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from allreduce_gen.engines.audit import audit_all_reduce
from allreduce_gen.engines.base import RunOptions, Schedule
from allreduce_gen.errors import AllReduceGenError, SpecError
from allreduce_gen.ir.recognise import call_buffers
from allreduce_gen.pipeline import generate
from allreduce_gen.spec import Algorithm, AllReduceSpec, DType, ReduceOp, Reuse

SIZES = (1, 2, 7, 17, 18, 63, 64, 100, 4096, 4097, 65537, 1000003)
RANKS = (1, 2, 3, 4, 5, 7, 8, 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What became of one spec: `right`, `refused` by the spec rules, or `wrong`.

    `codes` are those of the findings.
    """

    spec: AllReduceSpec
    outcome: str
    codes: tuple[str, ...] = ()
    message: str = ""


def sweep_specs(
    *,
    sizes: tuple[int, ...] = SIZES,
    ranks: tuple[int, ...] = RANKS,
    algorithms: tuple[Algorithm, ...] = (Algorithm.TWO_PHASE,),
    platform: str = "a2a3sim",
) -> Iterator[AllReduceSpec]:
    """Every spec of the sweep, the cheap ones first."""
    for size, num_ranks, algorithm, dtype, op, reuse, in_place in itertools.product(
        sizes, ranks, algorithms, DType, ReduceOp, Reuse, (False, True)
    ):
        yield AllReduceSpec(
            num_ranks=num_ranks,
            size=size,
            algorithm=algorithm,
            dtype=dtype,
            op=op,
            reuse=reuse,
            in_place=in_place,
            platform=platform,
        )


def run_cell(spec: AllReduceSpec) -> Cell:
    """Generate `spec`, run all its calls in a hostile order, and say how it went."""
    try:
        kernel = generate(spec)
        calls = call_buffers(kernel.trace)
        assert calls is not None
        options = RunOptions(seed=spec.size, schedule=Schedule.BOTH_LATE)
        audit_all_reduce(kernel.trace, calls, spec.op, options)
    except AllReduceGenError as error:
        return Cell(
            spec=spec,
            outcome="refused" if isinstance(error, SpecError) else "wrong",
            codes=tuple(dict.fromkeys(one.code.id for one in error.diagnostics)),
            message=error.diagnostics[0].message,
        )
    return Cell(spec=spec, outcome="right")


def run_sweep(specs: Iterator[AllReduceSpec], *, workers: int = 2) -> Iterator[Cell]:
    """Every cell, in order, worked on by several processes."""
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(run_cell, specs, chunksize=16)
