"""AR5xx: on-chip memory, alignment, window sizes, element types, cores."""

from __future__ import annotations

from allreduce_gen.diagnostics.model import Code

AR501 = Code(
    id="AR501",
    name="tile-too-large",
    what="The tiles that are live at the same time need more than the on-chip buffer.",
    why="A core has 188416 bytes for tiles on A2 and A3, 245760 on A5. pypto's CPU "
    "simulator is more generous, so a run there proves nothing.",
    example="""\
staged = pl.load(x, [0, 0], [1, 65536])  # 262144 bytes in FP32""",
    fix="Move the data in a loop of smaller tiles; of `--tile`, the message names the "
    "most that fits. A loop that adds one loaded tile to "
    "an accumulator has two live at once: 23552 FP32 elements each on A2 and A3.",
)

AR502 = Code(
    id="AR502",
    name="tile-misaligned",
    what="The row of a tile is not a multiple of 32 bytes.",
    why="The instruction library asserts it when the kernel is built, long after pypto "
    "has accepted the program. For FP32 and INT32 it means a multiple of 8 elements, "
    "for FP16 and BF16 of 16.",
    example="""\
CHUNK = 1366  # 5464 bytes in FP32: 24 bytes past a multiple of 32
acc = pl.load(data, [0, my_chunk], [1, CHUNK])""",
    fix="Choose a size whose chunks fill whole 32-byte blocks: for FP32, a multiple of "
    "8 * ranks. Or pad the tile, and cut what it holds with `valid_shape`.",
)

AR503 = Code(
    id="AR503",
    name="window-too-small",
    what="A window is larger than the buffer that it views.",
    why="pypto does not compare the two. Accesses to the end of the window reach the "
    "next buffer of the same rank, often the signal. A common cause: "
    "`pld.alloc_window_buffer(n)` counts bytes, not elements.",
    example="""\
signal_buf = pld.alloc_window_buffer(4)  # 4 bytes
signal = pld.window(signal_buf, [4, 1], dtype=pl.INT32)  # needs 16""",
    fix="Allocate by shape, `pld.alloc_window_buffer([4, 1], dtype=pl.INT32)`, or "
    "multiply by the bytes of an element.",
)

AR504 = Code(
    id="AR504",
    name="signal-too-small",
    what="The signal window has fewer rows or columns than the slots in use.",
    why="A notify outside the signal raises a cell of something else, and the wait for "
    "it blocks for ever. pypto does not check slots against the window.",
    example="""\
signal: pl.InOut[pld.DistributedTensor[[1, NUM_RANKS], pl.INT32]]
pld.system.notify(
    signal, peer=peer, offsets=[1, my_rank], value=1, op=pld.NotifyOp.AtomicAdd
)  # row 1 of a signal with one row""",
    fix="Give the signal one row for each barrier round and one column for each rank, "
    "in the annotations and in the host function alike.",
)

AR505 = Code(
    id="AR505",
    name="dtype-mismatch",
    what="Element types that must be equal differ, or a signal is not INT32.",
    why="Loads and stores move bytes and convert nothing: an FP16 tile in an FP32 "
    "window is read back as garbage. Slots are INT32 in the instruction library. pypto "
    "accepts all of these.",
    example="""\
half = pl.cast(acc, pl.FP16, mode="rint")
result = pl.store(half, [0, my_chunk], result)  # result is an FP32 window""",
    fix='Cast with `pl.cast(..., mode="rint")` to the type of the target, or change '
    "the window. Declare signals as pl.INT32.",
)

AR506 = Code(
    id="AR506",
    name="too-many-cores",
    what="A kernel asks for more blocks than the platform has vector cores.",
    why="Blocks that wait for each other must all run at once. A block without a core "
    "starts only when another ends, which then waits for it. A2 and A3 have 48 vector "
    "cores, A5 has 36.",
    example="""\
with pl.spmd(64):
    out = self.all_reduce(x, y, data, result, signal)""",
    fix="Ask for at most the number of cores in the message, and give each block more "
    "work.",
)
