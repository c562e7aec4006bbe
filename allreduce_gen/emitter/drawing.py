"""What the schedule of a docstring is drawn from: who deals with whom, and when."""

from __future__ import annotations

from dataclasses import dataclass

from allreduce_gen.ir.expr import MY_RANK, evaluate
from allreduce_gen.ir.steps import Binding, Block, Step
from allreduce_gen.spec import AllReduceSpec

from .trees import binary_links, binomial_acts
from .wording import WORDS, OpWords

MAX_DRAWN_RANKS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """`steps` are by name; `drawn_ranks` are those that the schedule shows.

    `env` gives the values of the constants and signal rows that expressions name.
    """

    spec: AllReduceSpec
    bindings: tuple[Binding, ...]
    steps: dict[str, Step]
    env: dict[str, int]
    drawn_ranks: tuple[int, ...]

    @property
    def words(self) -> OpWords:
        return WORDS[self.spec.op]

    @property
    def draws_all_ranks(self) -> bool:
        return len(self.drawn_ranks) == self.spec.num_ranks

    @property
    def rank_width(self) -> int:
        """Columns that a rank's number takes in the schedule."""
        return len(str(self.drawn_ranks[-1]))

    def bound(self, block: str, name: str, rank: int) -> tuple[int, ...]:
        """What `name` is on `rank` in each round of the block, where it runs there."""
        step = self.steps[block]
        assert isinstance(step, Block)
        env = self.env | {MY_RANK.name: rank}
        env |= {one.name: evaluate(one.value, env) for one in self.bindings}
        if step.guard is not None and not evaluate(step.guard, env):
            return ()
        return tuple(
            _bind(step, env | {step.var: turn})[name]
            for turn in range(evaluate(step.rounds, env))
        )

    def chunk_list(self, block: str, turn: int, rank: int) -> str:
        """The chunks that `rank` moves in one round: `c0`, or `c4-7`."""
        start = self.bound(block, "start", rank)[turn]
        count = self.bound(block, "distance", rank)[turn]
        first = start // self.env["CHUNK"]
        return f"c{first}" if count == 1 else f"c{first}-{first + count - 1}"

    def tree_acts(self, rank: int) -> tuple[str, ...]:
        """What `rank` does in a binomial tree."""
        return binomial_acts(self.spec.num_ranks, rank, self.words.sign)

    def tree_links(self, rank: int, tree: int) -> str:
        """Whom `rank` is bound to in the first or the second binary tree."""
        return binary_links(self.spec.num_ranks, rank, tree, self.words.sign)

    def holds(self, part: str, rank: int) -> bool:
        """Whether part `c`, `l` or `u` of number `rank` has elements.

        A chunk is a part `c`; a part `l` is the lower half of one, `u` the upper.
        """
        if part == "c":
            return rank * self.env["CHUNK"] < self.spec.size
        half = 2 * rank + (part == "u")
        return half * self.env["HALF"] < self.spec.size

    @property
    def chunk_note(self) -> str:
        """Which chunks of whole 32-byte blocks the ranks own."""
        chunk, size = self.env["CHUNK"], self.spec.size
        full, rest = divmod(size, chunk)
        empty = self.spec.num_ranks - full - (rest > 0)
        if not full:
            owned = "the one element" if size == 1 else f"all {size} elements"
            others = "the other" if empty == 1 else "the others"
            return f"rank 0 owns {owned}, {others} none"
        short = f", one of {rest}" if rest else ""
        idle = f", {_count(empty)} empty" if empty else ""
        return f"{_count(full)} of {chunk} elements{short}{idle}"

    def around(self, first: int, count: int, prefix: str = "") -> str:
        """`count` ranks from `first` on, wrapping around: `1 2 3`, or `1 2 .. 15`.

        Of parts, whose prefix is one that `holds` knows, those with elements.
        """
        return self._listed(range(first, first + count), prefix)

    def back(self, first: int, count: int, prefix: str = "") -> str:
        """The same, going back: `3 2 1`."""
        return self._listed(range(first, first - count, -1), prefix)

    def _listed(self, ranks: range, prefix: str) -> str:
        numbers = [rank % self.spec.num_ranks for rank in ranks]
        if prefix in ("c", "l", "u"):
            numbers = [one for one in numbers if self.holds(prefix, one)]
        names = [f"{prefix}{one}" for one in numbers]
        long = len(names) > MAX_DRAWN_RANKS
        return " ".join([*names[:2], "..", names[-1]] if long else names)


def _count(number: int) -> str:
    return "one" if number == 1 else str(number)


def _bind(block: Block, env: dict[str, int]) -> dict[str, int]:
    """`env` with the names that `block` binds."""
    for one in block.bindings:
        env[one.name] = evaluate(one.value, env)
    return env
