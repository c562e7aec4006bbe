"""What templates may read: a plan, its cost, and the few texts that both need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from allreduce_gen.ir.constants import Constant, Factor
from allreduce_gen.ir.cost import Cost
from allreduce_gen.ir.expr import MY_RANK, evaluate
from allreduce_gen.ir.plan import Plan, SignalRow, Window
from allreduce_gen.ir.steps import Binding, Block, Phase, Step
from allreduce_gen.spec import AllReduceSpec, Form, Order, Transfer

from .trees import binary_links, binomial_acts
from .wording import WORDS, OpWords, TorchCheck, torch_check

MAX_DRAWN_RANKS = 8

_FLAGS = (
    "algorithm",
    "dtype",
    "op",
    "platform",
    "accumulate",
    "reuse",
    "form",
    "transfer",
    "barrier",
    "order",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelView:
    """One kernel. `steps` are by name; `drawn_ranks` are those that the schedule shows.

    `env` gives the values of the constants and signal rows that expressions name.
    `command` makes the kernel again; `file_name` is what its docstring calls it.
    """

    spec: AllReduceSpec
    cost: Cost
    constants: tuple[Constant | Factor, ...]
    signal_rows: tuple[SignalRow, ...]
    num_rows: int
    windows: tuple[Window, ...]
    bindings: tuple[Binding, ...]
    scalars: tuple[str, ...]
    steps: dict[str, Step]
    env: dict[str, int]
    drawn_ranks: tuple[int, ...]
    file_name: str
    command: str

    @property
    def draws_all_ranks(self) -> bool:
        return len(self.drawn_ranks) == self.spec.num_ranks

    @property
    def is_program(self) -> bool:
        """Whether the kernel is a class under @pl.program."""
        return self.spec.form is Form.PROGRAM

    @property
    def is_uneven(self) -> bool:
        """Whether some rank moves fewer bytes than the busiest."""
        return self.cost.remote_bytes * self.spec.num_ranks != (
            self.cost.total_remote_bytes
        )

    @property
    def rounding_note(self) -> str:
        """How 16-bit floats are combined, after a comma; nothing for other types."""
        if self.spec.accumulator is not self.spec.dtype:
            return f", in {self.spec.accumulator.name} and rounded once"
        return ""

    def number(self, name: str) -> float:
        """The value of the module constant `name`."""
        return next(one.value for one in self.constants if one.name == name)

    @property
    def rounds_word(self) -> str:
        """What the cost card calls the times that a rank waits."""
        pairwise = any(step.phase is Phase.HANDSHAKE for step in self.steps.values())
        return "wait rounds" if pairwise else "barrier rounds"

    @property
    def transfer_word(self) -> str:
        """What the cost card calls the bytes that a rank moves from or to its peers."""
        return f"remote {'writes' if self.spec.transfer is Transfer.PUSH else 'reads'}"

    @property
    def has_exit_barrier(self) -> bool:
        """Whether a last barrier lets windows be written again."""
        return "wait_done" in self.steps

    @property
    def is_ascending(self) -> bool:
        """Whether contributions are combined in the order of the ranks."""
        return self.spec.order is Order.ASCENDING

    @property
    def num_folded(self) -> int:
        """Ranks that give their elements to another one before the exchange."""
        return self.env.get("EXTRA", 0)

    @property
    def words(self) -> OpWords:
        return WORDS[self.spec.op]

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimensions of one rank's tensor, as the kernel writes them."""
        if self.spec.shape is None:
            return ("1", "SIZE")
        return tuple(map(str, self.spec.shape))

    @property
    def torch(self) -> TorchCheck:
        return torch_check(self.spec, self.dims)

    @property
    def rank_width(self) -> int:
        """Columns that a rank's number takes in the schedule."""
        return len(str(self.drawn_ranks[-1]))

    @property
    def card_width(self) -> int:
        """Columns that the numbers of the cost card take."""
        return max(7, len(str(max(self.cost.remote_bytes, self.cost.window_bytes))))

    @property
    def device_list(self) -> str:
        """Every rank's device for a shell."""
        if self.draws_all_ranks:
            return ",".join(map(str, self.drawn_ranks))
        return f"$(seq -s, 0 {self.spec.num_ranks - 1})"

    @property
    def default_devices(self) -> str:
        """The same for Python."""
        if self.draws_all_ranks:
            return f'"{self.device_list}"'
        return '",".join(map(str, range(NUM_RANKS)))'

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

    def around(self, first: int, count: int, prefix: str = "") -> str:
        """`count` ranks from `first` on, wrapping around: `1 2 3`, or `1 2 .. 15`."""
        return self._listed(range(first, first + count), prefix)

    def back(self, first: int, count: int, prefix: str = "") -> str:
        """The same, going back: `3 2 1`."""
        return self._listed(range(first, first - count, -1), prefix)

    def _listed(self, ranks: range, prefix: str) -> str:
        names = [f"{prefix}{rank % self.spec.num_ranks}" for rank in ranks]
        long = len(names) > MAX_DRAWN_RANKS
        return " ".join([*names[:2], "..", names[-1]] if long else names)


def make_view(plan: Plan, cost: Cost) -> KernelView:
    """What the templates see of `plan`."""
    spec = plan.spec
    ranks = tuple(range(spec.num_ranks))
    return KernelView(
        spec=spec,
        cost=cost,
        constants=(*plan.constants, *plan.factors),
        scalars=plan.scalars,
        signal_rows=plan.signal_rows,
        num_rows=plan.num_rows,
        windows=plan.windows,
        bindings=plan.bindings,
        env=plan.env,
        steps=dict(_by_name(plan.steps)),
        drawn_ranks=(
            ranks if len(ranks) <= MAX_DRAWN_RANKS else (*ranks[:2], ranks[-1])
        ),
        file_name=f"{spec.name}.py",
        command=format_command(spec).replace(" --because", " \\\n    --because"),
    )


def _bind(block: Block, env: dict[str, int]) -> dict[str, int]:
    """`env` with the names that `block` binds."""
    for one in block.bindings:
        env[one.name] = evaluate(one.value, env)
    return env


def _by_name(steps: Iterable[Step]) -> Iterator[tuple[str, Step]]:
    """Every step under its name, blocks and what is in them."""
    for step in steps:
        yield step.name, step
        if isinstance(step, Block):
            yield from _by_name(step.body)


def format_command(spec: AllReduceSpec) -> str:
    """The command line that emits `spec`, leaving out what is the default."""
    default = AllReduceSpec(num_ranks=spec.num_ranks, size=spec.size)
    size = "x".join(map(str, spec.shape)) if spec.shape else str(spec.size)
    words = [
        f"allreduce-gen --ranks {spec.num_ranks}",
        f"--shape {size}" if spec.shape else f"--size {size}",
    ]
    for name in _FLAGS:
        value = getattr(spec, name)
        chosen = name == "algorithm" and bool(spec.because)
        if chosen or value != getattr(default, name):
            words.append(f"--{name} {getattr(value, 'value', value)}")
    if spec.groups is not None:
        words.append(f"--groups {'x'.join(map(str, spec.groups))}")
    if spec.tile is not None:
        words.append(f"--tile {spec.tile}")
    words += [
        f"--{name.replace('_', '-')}"
        for name in ("in_place", "strict_divisible")
        if getattr(spec, name)
    ]
    if spec.because:
        words.append(f'--because "{spec.because}"')
    return " ".join(words)
