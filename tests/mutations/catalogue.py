"""The mutations: how each changes a program, and the codes that may kill it."""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from . import signals, transfers
from .syntax import kernel_of

Edit: TypeAlias = Callable[[], None]
Find: TypeAlias = Callable[[ast.FunctionDef, ast.Module], Iterator[Edit]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """A named way to break a program. `codes` are stated: one of them must be found."""

    name: str
    find: Find
    codes: frozenset[str]

    def apply(self, source: str, most: int = 2) -> Iterator[str]:
        """The mutants of `source`: one for each place, the first and the last ones."""
        count = sum(1 for _ in self._edits(ast.parse(source)))
        chosen = sorted({*range(count)[: most - 1], *range(count)[-1:]})
        for number in chosen:
            tree = ast.parse(source)
            next(itertools.islice(self._edits(tree), number, None))()
            yield ast.unparse(ast.fix_missing_locations(copy.deepcopy(tree)))

    def _edits(self, tree: ast.Module) -> Iterator[Edit]:
        return self.find(kernel_of(tree), tree)


_RACES = "AR401 AR402 AR403"
_BLOCKS = "AR301 AR304 AR305"
_CONTENTS = "AR405 AR406 AR407 AR408 AR410"

_LIST: tuple[tuple[str, Find, str], ...] = (
    ("drop a barrier", signals.drop_barrier, f"{_RACES} {_BLOCKS} AR407"),
    ("drop a notify", signals.drop_notify, f"{_BLOCKS} {_RACES} AR303"),
    ("drop a wait", signals.drop_wait, _RACES),
    ("wait before the notify", signals.wait_first, "AR304"),
    ("notify before the store", signals.notify_early, _RACES),
    ("wait after the read", signals.wait_late, _RACES),
    ("expect one more", signals.expect_more, f"{_BLOCKS} AR306"),
    ("expect one less", signals.expect_less, f"{_RACES} AR303"),
    ("notify all peers but one", signals.notify_short, f"{_BLOCKS} {_RACES} AR303"),
    ("wait for all peers but one", signals.wait_short, f"{_RACES} AR305"),
    (
        "notify one peer twice, another never",
        signals.notify_twice,
        f"{_BLOCKS} {_RACES} AR303",
    ),
    (
        "notify the peer's own column",
        signals.notify_column,
        f"{_BLOCKS} {_RACES} AR303 AR404",
    ),
    ("wait on the own column", signals.wait_column, f"{_BLOCKS} AR404"),
    ("one row for two rounds", signals.one_row, f"{_RACES} AR303 {_BLOCKS}"),
    ("one row for all steps", signals.one_row_for_steps, f"{_RACES} AR303 {_BLOCKS}"),
    ("notify again", signals.notify_again, f"{_BLOCKS} {_RACES} AR303 AR306"),
    ("Set in place of AtomicAdd", signals.set_slots, f"{_BLOCKS} AR307 AR309"),
    ("Eq in place of Ge", signals.wait_equal, "AR306"),
    ("signals in a pipeline", signals.pipeline, "AR308"),
    ("a signal row too few", signals.rows_short, "AR404 AR504 AR703"),
    ("skip the last round", signals.skip_round, f"{_RACES} {_BLOCKS} {_CONTENTS}"),
    ("count down to a peer", transfers.count_down, "AR706"),
    ("a peer out of range", transfers.peer_range, f"{_BLOCKS} {_CONTENTS} AR404"),
    ("read the next peer", transfers.next_peer, f"{_RACES} {_CONTENTS}"),
    ("read one's own copy", transfers.own_copy, f"{_RACES} {_CONTENTS}"),
    ("shift what is read", transfers.shift_read, f"{_CONTENTS} {_RACES} AR404"),
    ("shift what is stored", transfers.shift_store, f"{_CONTENTS} {_RACES} AR404"),
    ("swap two chunks", transfers.swap_chunks, f"{_CONTENTS} {_RACES} AR404"),
    ("drop a contribution", transfers.drop_contribution, "AR405"),
    ("drop a combine", transfers.drop_combine, "AR405"),
    ("double a contribution", transfers.double_combine, "AR406"),
    ("add a constant", transfers.add_constant, "AR410"),
    ("drop a store", transfers.drop_store, f"{_CONTENTS} {_RACES}"),
    ("skip a gather", transfers.skip_gather, _CONTENTS),
    ("a window too small", transfers.small_window, "AR503"),
)

MUTATIONS = tuple(
    Mutation(name=name, find=find, codes=frozenset(codes.split()))
    for name, find, codes in _LIST
)
