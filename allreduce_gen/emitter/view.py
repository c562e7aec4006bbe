"""What templates may read: a plan, its cost, and the few texts that both need."""

from __future__ import annotations

from dataclasses import dataclass

from allreduce_gen.ir.cost import Cost
from allreduce_gen.ir.plan import Binding, Constant, Plan, Window
from allreduce_gen.ir.steps import Step
from allreduce_gen.spec import AllReduceSpec

MAX_DRAWN_RANKS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelView:
    """One kernel. `steps` are by name; `drawn_ranks` are those that the schedule shows.

    `command` makes the kernel again; `file_name` is what its docstring calls it.
    """

    spec: AllReduceSpec
    cost: Cost
    constants: tuple[Constant, ...]
    signal_rows: tuple[Constant, ...]
    windows: tuple[Window, ...]
    bindings: tuple[Binding, ...]
    steps: dict[str, Step]
    drawn_ranks: tuple[int, ...]
    file_name: str
    command: str

    @property
    def draws_all_ranks(self) -> bool:
        return len(self.drawn_ranks) == self.spec.num_ranks

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

    def around(self, first: int, count: int, prefix: str = "") -> str:
        """`count` ranks from `first` on, wrapping around: `1 2 3`, or `1 2 .. 15`."""
        ranks = [(first + step) % self.spec.num_ranks for step in range(count)]
        names = [f"{prefix}{rank}" for rank in ranks]
        shown = names if count <= MAX_DRAWN_RANKS else [*names[:2], "..", names[-1]]
        return " ".join(shown)


def make_view(plan: Plan, cost: Cost) -> KernelView:
    """What the templates see of `plan`."""
    spec = plan.spec
    ranks = tuple(range(spec.num_ranks))
    return KernelView(
        spec=spec,
        cost=cost,
        constants=plan.constants,
        signal_rows=plan.signal_rows,
        windows=plan.windows,
        bindings=plan.bindings,
        steps={step.name: step for step in plan.steps},
        drawn_ranks=(
            ranks if len(ranks) <= MAX_DRAWN_RANKS else (*ranks[:2], ranks[-1])
        ),
        file_name=f"{spec.name}.py",
        command=format_command(spec),
    )


def format_command(spec: AllReduceSpec) -> str:
    """The command line that emits `spec`, leaving out what is the default."""
    default = AllReduceSpec(num_ranks=spec.num_ranks, size=spec.size)
    words = ["allreduce-gen", f"--ranks {spec.num_ranks}", f"--size {spec.size}"]
    if spec.algorithm is not default.algorithm:
        words.append(f"--algorithm {spec.algorithm.value}")
    if spec.dtype is not default.dtype:
        words.append(f"--dtype {spec.dtype.value}")
    if spec.op is not default.op:
        words.append(f"--op {spec.op.value}")
    if spec.platform != default.platform:
        words.append(f"--platform {spec.platform}")
    return " ".join(words)
