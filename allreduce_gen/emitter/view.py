"""What templates may read: a plan, its cost, and the few texts that both need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from allreduce_gen.diagnostics.wording import plural
from allreduce_gen.ir.constants import Constant, Factor
from allreduce_gen.ir.cost import Cost
from allreduce_gen.ir.plan import Plan, SignalRow, Window
from allreduce_gen.ir.steps import Block, Phase, Step
from allreduce_gen.spec import Form, Order, Reuse, Transfer
from allreduce_gen.targets import accumulator

from .commands import show_command, show_run
from .drawing import MAX_DRAWN_RANKS, Drawing
from .orders import reduction_orders
from .wording import TorchCheck, torch_check


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelView(Drawing):
    """One kernel: what it costs, how its docstring speaks of it, what it defines."""

    cost: Cost
    constants: tuple[Constant | Factor, ...]
    signal_rows: tuple[SignalRow, ...]
    num_rows: int
    windows: tuple[Window, ...]
    scalars: tuple[str, ...]

    @property
    def elements(self) -> str:
        """`4096 FP32 elements`."""
        return plural(self.spec.size, f"{self.spec.dtype.name} element")

    @property
    def command(self) -> str:
        """What makes the kernel again, as its docstring says it."""
        return show_command(self.spec)

    @property
    def run_command(self) -> str:
        """What runs it."""
        return show_run(self.spec, self.device_list)

    @property
    def is_program(self) -> bool:
        """Whether the kernel is a class under @pl.program."""
        return self.spec.form is Form.PROGRAM

    @property
    def is_uneven(self) -> bool:
        """Whether some rank moves fewer bytes than the busiest."""
        total = self.cost.remote_bytes * self.spec.num_ranks
        return total != self.cost.total_remote_bytes

    @property
    def is_ragged(self) -> bool:
        """Whether ranks or chunks are not all alike, so that a total is of interest."""
        return self.is_uneven or "PADDED" in self.env

    @property
    def is_scaled(self) -> bool:
        """Whether the sum is scaled to be the mean."""
        return any(isinstance(one, Factor) for one in self.constants)

    @property
    def then_scale(self) -> str:
        """What a comment on combining adds for the mean."""
        return ", then scale the sum" if self.is_scaled else ""

    @property
    def then_scales(self) -> str:
        """What a sentence about the rank adds for it."""
        return ", then scales the sum" if self.is_scaled else ""

    @property
    def clears(self) -> bool:
        """Whether slots are lowered again, so that they do not only count up."""
        return self.spec.reuse is Reuse.SELF_CLEARING

    @property
    def rounding_note(self) -> str:
        """How results are scaled and 16-bit floats combined, after a comma, if so."""
        wide, last = self._rounding
        then = ", then " if self.is_scaled else " and "
        return f"{wide}{then}{last}" if last else ""

    @property
    def rounding_clause(self) -> str:
        """The same of a sentence that has another subject."""
        wide, last = self._rounding
        subject = "the sum" if self.is_scaled else "the result"
        return f"{wide}, and {subject} is {last}" if last else ""

    @property
    def _rounding(self) -> tuple[str, str]:
        """`, in FP32` and `scaled by 1/P and rounded once`, as far as either holds."""
        is_wide = accumulator(self.spec) is not self.spec.dtype
        last = ["scaled by 1/P"] * self.is_scaled + ["rounded once"] * is_wide
        wide = f", in {accumulator(self.spec).name}" if is_wide else ""
        return wide, " and ".join(last)

    @property
    def expressions(self) -> tuple[str, ...]:
        """What is combined first, in brackets, where ranks are few enough to show."""
        if not self.draws_all_ranks:
            return ()
        orders = reduction_orders(
            self.spec,
            self.words.sign.strip(),
            core=self.spec.num_ranks - self.num_folded,
            groups=self.env.get("GROUPS", 1),
        )
        return tuple(f"({one}) * SCALE" if self.is_scaled else one for one in orders)

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
    def has_barrier_rounds(self) -> bool:
        """Whether some barrier goes in rounds."""
        return any(name.startswith("barrier_") for name in self.steps)

    @property
    def is_ascending(self) -> bool:
        """Whether contributions are combined in the order of the ranks."""
        return self.spec.order is Order.ASCENDING

    @property
    def num_folded(self) -> int:
        """Ranks that give their elements to another one before the exchange."""
        return self.env.get("EXTRA", 0)

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
    def card_width(self) -> int:
        """Columns that the numbers of the cost card take."""
        total = self.cost.total_remote_bytes if self.is_ragged else 0
        most = max(self.cost.remote_bytes, self.cost.window_bytes, total)
        return max(7, len(str(most)))

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
    )


def _by_name(steps: Iterable[Step]) -> Iterator[tuple[str, Step]]:
    """Every step under its name, blocks and what is in them."""
    for step in steps:
        yield step.name, step
        if isinstance(step, Block):
            yield from _by_name(step.body)
