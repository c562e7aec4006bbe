"""Programs as source text, put together from phases as a person would write them.

    write_program(STAGE_IN, barrier("ROW_A"), REDUCE_SCATTER, ..., num_ranks=4)

Kernels have `x`, `y`, the windows and `signal`; they know `my_rank`, NUM_RANKS, SIZE,
OUT and CHUNK. What is faulty is a phase left out, moved, or written with other words.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

WINDOWS: Mapping[str, str] = {"data": "[1, SIZE]", "result": "[1, SIZE]"}

_HEADER = """\
import pypto.language as pl
import pypto.language.distributed as pld

NUM_RANKS = {num_ranks}
SIZE = {size}
OUT = {out}
CHUNK = SIZE // NUM_RANKS
ROW_A = 0
ROW_B = 1
NUM_ROWS = {rows}
{constants}

@pl.program
class Program:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
{kernel_parameters}
    ):
        ctx = pld.get_comm_ctx({window})
        my_rank = pld.rank(ctx)
"""

_FOOTER = """\

    @pl.function(type=pl.FunctionType.Orchestration)
    def per_rank(
{kernel_parameters}
    ):
        self.kernel({arguments})

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
{host_parameters}
    ):
{buffers}
        for r in pl.range(pld.world_size()):
{views}
            self.per_rank({host_arguments}, device=r)
"""


def write_program(
    *phases: str,
    num_ranks: int,
    chunk: int = 16,
    out: str = "SIZE",
    rows: str = "2",
    dtype: str = "FP32",
    windows: Mapping[str, str] = WINDOWS,
    signal: str = "[NUM_ROWS, NUM_RANKS]",
    signal_buffer: str = "{shape}, dtype={dtype}",
    constants: str = "",
    epoch: bool = False,
) -> str:
    """The text of a program whose kernel goes through `phases`, one after another.

    `x` has NUM_RANKS * `chunk` elements a rank and `y` has `out`; each of `windows` has
    the shape that is given. With `epoch`, the last argument is the call's number.
    """
    shapes = {name: (shape, f"pl.{dtype}") for name, shape in windows.items()}
    shapes["signal"] = (signal, "pl.INT32")
    hosts = {"x": "SIZE", "y": "OUT"}
    last = ["epoch: pl.Scalar[pl.INT32]"] if epoch else []
    names = [*hosts, *shapes, *(["epoch"] if epoch else [])]
    values: dict[str, str] = {
        "num_ranks": str(num_ranks),
        "size": str(num_ranks * chunk),
        "out": out,
        "rows": rows,
        "constants": constants,
        "window": next(iter(shapes)),
        "kernel_parameters": _lines(
            "self",
            *(_host(name, f"[1, {size}]", dtype) for name, size in hosts.items()),
            *(
                f"{name}: pl.InOut[pld.DistributedTensor[{shape}, {of}]]"
                for name, (shape, of) in shapes.items()
            ),
            *last,
        ),
        "host_parameters": _lines(
            "self",
            *(
                _host(name, f"[NUM_RANKS, 1, {size}]", dtype)
                for name, size in hosts.items()
            ),
            *last,
        ),
        "arguments": ", ".join(names),
        "host_arguments": ", ".join(
            f"{name}[r]" if name in hosts else name for name in names
        ),
        "buffers": _indent(
            *(
                f"{name}_buf = pld.alloc_window_buffer("
                + (signal_buffer if name == "signal" else "{shape}, dtype={dtype}")
                .replace("{shape}", shape)
                .replace("{dtype}", of)
                + ")"
                for name, (shape, of) in shapes.items()
            )
        ),
        "views": _indent(
            *(
                f"{name} = pld.window({name}_buf, {shape}, dtype={of})"
                for name, (shape, of) in shapes.items()
            ),
            depth=12,
        ),
    }
    body = _indent(*phases)
    return f"{_HEADER.format_map(values)}\n{body}\n{_FOOTER.format_map(values)}"


def _host(name: str, shape: str, dtype: str) -> str:
    tensor = f"pl.Tensor[{shape}, pl.{dtype}]"
    return f"{name}: {tensor if name == 'x' else f'pl.Out[{tensor}]'}"


def _lines(*parameters: str) -> str:
    return _indent(*(f"{one}," for one in parameters))


def _indent(*blocks: str, depth: int = 8) -> str:
    text = "\n".join(textwrap.dedent(block).strip("\n") for block in blocks)
    return textwrap.indent(text, " " * depth)


def line_of(text: str, words: str, number: int = 0) -> int:
    """The line of `text` that has `words`, counted from 1; the `number`-th such one."""
    lines = [at for at, line in enumerate(text.splitlines(), start=1) if words in line]
    return lines[number]


def notify_all(
    row: str = "ROW_A",
    *,
    column: str = "my_rank",
    value: str = "1",
    op: str = "AtomicAdd",
    steps: str = "1, NUM_RANKS",
    peer: str = "(my_rank + step) % NUM_RANKS",
    loop: str = "pl.range",
) -> str:
    """A loop of notifies, one to each peer."""
    return f"""\
for step in {loop}({steps}):
    peer = {peer}
    pld.system.notify(
        signal, peer=peer, offsets=[{row}, {column}], value={value},
        op=pld.NotifyOp.{op},
    )"""


def wait_all(
    row: str = "ROW_A",
    *,
    column: str = "peer",
    expected: str = "1",
    cmp: str = "Ge",
    steps: str = "1, NUM_RANKS",
) -> str:
    """A loop of waits, one for each peer."""
    return f"""\
for step in pl.range({steps}):
    peer = (my_rank + step) % NUM_RANKS
    pld.system.wait(
        signal, offsets=[{row}, {column}], expected={expected}, cmp=pld.WaitCmp.{cmp}
    )"""


def barrier(row: str = "ROW_A", expected: str = "1") -> str:
    """Notify everybody, then wait for everybody."""
    return f"{notify_all(row)}\n{wait_all(row, expected=expected)}"


def credit_back(row: str, value: str = "-1") -> str:
    """Lower this rank's own slots of one row again."""
    return f"""\
for step in pl.range(1, NUM_RANKS):
    peer = (my_rank + step) % NUM_RANKS
    pld.system.notify(
        signal, peer=my_rank, offsets=[{row}, peer], value={value},
        op=pld.NotifyOp.AtomicAdd,
    )"""


LOAD_X = "staged = pl.load(x, [0, 0], [1, SIZE])"
STORE_X = "data = pl.store(staged, [0, 0], data)"
STAGE_IN = f"{LOAD_X}\n{STORE_X}"


def reduce_scatter(
    target: str = "result",
    *,
    at: str = "my_rank * CHUNK",
    from_at: str = "my_rank * CHUNK",
    steps: str = "1, NUM_RANKS",
) -> str:
    """Add everybody's chunk of this rank's and store it in `target`."""
    return f"""\
acc = pl.load(data, [0, my_rank * CHUNK], [1, CHUNK])
for step in pl.range({steps}):
    peer = (my_rank + step) % NUM_RANKS
    contribution = pld.tile.remote_load(
        data, peer=peer, offsets=[0, {from_at}], shape=[1, CHUNK]
    )
    acc = pl.add(acc, contribution)
{target} = pl.store(acc, [0, {at}], {target})"""


def all_gather(
    source: str = "result", *, at: str = "owner * CHUNK", to: str = "owner * CHUNK"
) -> str:
    """Read each chunk from its owner."""
    return f"""\
for step in pl.range(NUM_RANKS):
    owner = (my_rank + step) % NUM_RANKS
    reduced = pld.tile.remote_load(
        {source}, peer=owner, offsets=[0, {at}], shape=[1, CHUNK]
    )
    y = pl.store(reduced, [0, {to}], y)"""


def two_phase(
    num_ranks: int,
    *,
    rows: str = "ROW_A ROW_B",
    expected: tuple[str, str] = ("1", "1"),
    epoch: bool = False,
) -> str:
    """The tutorial's all-reduce, with a row for each barrier unless `rows` says else.

    With `epoch`, both barriers of call k wait for k.
    """
    first, second = rows.split()
    one, other = ("epoch", "epoch") if epoch else expected
    return write_program(
        STAGE_IN,
        barrier(first, one),
        reduce_scatter(),
        barrier(second, other),
        all_gather(),
        num_ranks=num_ranks,
        epoch=epoch,
    )


def gather_and_add(row: str = "0") -> str:
    """Add everybody's whole vector to one's own."""
    return f"""\
acc = pl.load(data, [{row}, 0], [1, SIZE])
for step in pl.range(1, NUM_RANKS):
    peer = (my_rank + step) % NUM_RANKS
    contribution = pld.tile.remote_load(
        data, peer=peer, offsets=[{row}, 0], shape=[1, SIZE]
    )
    acc = pl.add(acc, contribution)
y = pl.store(acc, [0, 0], y)"""


MESH_WINDOWS: Mapping[str, str] = {"data": "[1, SIZE]"}


def mesh(
    num_ranks: int, *phases: str, last: str = "", rows: str = "2", epoch: bool = False
) -> str:
    """Everybody adds everybody's data; `phases` stand between staging and adding.

    Of integers: each rank starts from its own, and floats would be rounded differently.
    """
    return write_program(
        STAGE_IN,
        *phases,
        gather_and_add(),
        last,
        num_ranks=num_ranks,
        windows=MESH_WINDOWS,
        dtype="INT32",
        rows=rows,
        epoch=epoch,
    )


def push(num_ranks: int) -> str:
    """Everybody writes its data to a row of every peer, and adds its own rows."""
    return write_program(
        LOAD_X,
        "data = pl.store(staged, [my_rank, 0], data)",
        """\
for step in pl.range(1, NUM_RANKS):
    peer = (my_rank + step) % NUM_RANKS
    pld.tile.remote_store(staged, target=data, peer=peer, offsets=[my_rank, 0])""",
        barrier(),
        """\
acc = pl.load(data, [0, 0], [1, SIZE])
for row in pl.range(1, NUM_RANKS):
    contribution = pl.load(data, [row, 0], [1, SIZE])
    acc = pl.add(acc, contribution)
y = pl.store(acc, [0, 0], y)""",
        num_ranks=num_ranks,
        windows={"data": "[NUM_RANKS, SIZE]"},
    )


COUNTS_DOWN = "(my_rank + (NUM_RANKS - 1) * step) % NUM_RANKS"


def ring_steps(
    rows: tuple[str, str] = ("step", "NUM_RANKS + step"),
    expected: str = "1",
    *,
    chunk: str = COUNTS_DOWN,
) -> str:
    """Both halves of a ring in place, in step with the neighbours only."""
    first, second = (
        f"""\
    pld.system.notify(
        signal, peer=right, offsets=[{row}, my_rank], value=1,
        op=pld.NotifyOp.AtomicAdd,
    )
    pld.system.wait(
        signal, offsets=[{row}, left], expected={expected}, cmp=pld.WaitCmp.Ge
    )"""
        for row in rows
    )
    return f"""\
right = (my_rank + 1) % NUM_RANKS
left = (my_rank + NUM_RANKS - 1) % NUM_RANKS
for step in pl.range(1, NUM_RANKS):
{first}
    at = {chunk} * CHUNK
    own = pl.load(data, [0, at], [1, CHUNK])
    got = pld.tile.remote_load(data, peer=left, offsets=[0, at], shape=[1, CHUNK])
    total = pl.add(own, got)
    data = pl.store(total, [0, at], data)
for step in pl.range(NUM_RANKS - 1):
{second}
    place = {COUNTS_DOWN} * CHUNK
    final = pld.tile.remote_load(data, peer=left, offsets=[0, place], shape=[1, CHUNK])
    data = pl.store(final, [0, place], data)"""


STAGE_OUT = """\
whole = pl.load(data, [0, 0], [1, SIZE])
y = pl.store(whole, [0, 0], y)"""


def ring(
    num_ranks: int,
    *last: str,
    rows: tuple[str, str] = ("step", "NUM_RANKS + step"),
    expected: str = "1",
    chunk: str = COUNTS_DOWN,
    epoch: bool = False,
) -> str:
    """A ring; `last` are phases at its end."""
    return write_program(
        STAGE_IN,
        ring_steps(rows, expected, chunk=chunk),
        STAGE_OUT,
        *last,
        num_ranks=num_ranks,
        windows=MESH_WINDOWS,
        rows="2 * NUM_RANKS",
        epoch=epoch,
    )
