"""AR7xx to AR9xx: setting up an engine, running on it, and our own faults."""

from __future__ import annotations

from allreduce_gen.diagnostics.model import Code

AR701 = Code(
    id="AR701",
    name="engine-unavailable",
    what="The engine that was asked for is not installed, or not completely.",
    why="The simulator is always there. The others need software of their own: "
    "hw-native-sys/pypto with its assembler and runtime. The package named pypto on "
    "PyPI is another framework and cannot run these kernels.",
    example="allreduce-gen run kernel.py --engine pypto",
    fix="Ask `allreduce-gen doctor` what is missing, or use `--engine simulator`.",
)

AR702 = Code(
    id="AR702",
    name="compile-rejected",
    what="The compiler of the engine refused the program.",
    why="The program passed the checks here, but the compiler has rules of its own, "
    "and they change with its version. Its own words are in the message.",
    example="""\
error[AR702] compile-rejected: pypto refused kernel.py
   = compiler: Vec buffer usage (188480 bytes) exceeds platform limit""",
    fix="Follow the compiler's message. For a kernel that allreduce-gen emitted, "
    "report it with the compiler's version.",
)

AR703 = Code(
    id="AR703",
    name="source-not-supported",
    what="The program uses a construct that pypto's frontend refuses, or that "
    "allreduce-gen does not interpret.",
    why="Kernels are read from their syntax tree and never executed, here as in pypto. "
    "What has no meaning there is refused with its line. Skipping it would be worse: "
    "the checks would then speak about another program.",
    example="""\
for step in range(1, NUM_RANKS):  # Python's range: pypto wants pl.range
    total += 1  # no augmented assignment either""",
    fix="Write it in the subset that kernels use: `pl.range`, one comparison at a "
    "time, `total = total + 1`, `pl.add(a, b)` for tiles.",
)

AR704 = Code(
    id="AR704",
    name="input-unreadable",
    what="The file cannot be read, is not Python, or fails when it is imported.",
    why="A file's module level is executed to get at its programs: its imports, "
    "constants and factories. A failure there leaves nothing to check.",
    example="""\
error[AR704] input-unreadable: kernel.py: '(' was never closed
  --> kernel.py:74""",
    fix="Correct the path or the line that the message names.",
)

AR705 = Code(
    id="AR705",
    name="no-program-found",
    what="The file has no pypto program at module level.",
    why="Programs are classes under `@pl.program`. A file without one may be a "
    "library, an empty file, or one that makes its program only inside a function.",
    example="""\
class AllReduce:  # @pl.program is missing
    @pl.function(type=pl.FunctionType.InCore)
    def all_reduce(self, x, y): ...""",
    fix="Put `@pl.program` on the class, and define it at module level.",
)

AR706 = Code(
    id="AR706",
    name="modulo-miscompiled",
    what="What pypto makes of a `%` or `//` with a constant divisor has a negative "
    "numerator, and so another value on the device.",
    why="pypto simplifies under floor division, then emits instructions that truncate "
    "toward zero. `(my_rank + NUM_RANKS - step) % NUM_RANKS` becomes `(my_rank - step) "
    "% NUM_RANKS`, and so does `(my_rank - step + NUM_RANKS) % NUM_RANKS`; it is "
    "negative on the device, and a negative offset is taken as 0. The program "
    "compiles, runs and returns wrong data.",
    example="""\
peer = (my_rank + NUM_RANKS - step) % NUM_RANKS  # wrong code
peer = (my_rank - 1 + NUM_RANKS) % NUM_RANKS  # wrong code
peer = (my_rank + (NUM_RANKS - 1) * step) % NUM_RANKS  # right code: the first
peer = (my_rank + NUM_RANKS - 1) % NUM_RANKS  # right code: the second""",
    fix="Count up: `(my_rank + step) % NUM_RANKS`, or to count down `(my_rank + "
    "(NUM_RANKS - 1) * step) % NUM_RANKS`. A run-time `pld.nranks(ctx)` in place of "
    "the constant is right too.",
)

AR707 = Code(
    id="AR707",
    name="list-index-miscompiled",
    what="An item is taken of a list or tuple from outside the kernel, and it is not "
    "the list's last number.",
    why="pypto accepts it and emits the last number of the list, inner lists included, "
    "whatever the index is. Nothing warns, and the result is wrong. A list that is "
    "passed by name and holds outer values only comes out right: Python computes it.",
    example="""\
OFFSETS = [0, 1024, 2048, 3072]
acc = pl.load(data, [0, OFFSETS[1]], [1, CHUNK])  # loads from 3072""",
    fix="Use a literal or a named integer, or compute the offset: `1 * CHUNK`.",
)

AR801 = Code(
    id="AR801",
    name="deadlock-observed",
    what="During a run, every rank that has not ended is blocked in a wait.",
    why="Nothing can raise the slots any more. The message lists each blocked rank "
    "with its slot, the value there and the value wanted.",
    example="""\
error[AR801] deadlock-observed: 2 of 2 ranks are blocked
   = rank 0: slot [0, 1] is 0, wanted >= 1
   = rank 1: slot [0, 0] is 0, wanted >= 1""",
    fix="Run `allreduce-gen check` on the file: it names the wait and the notify that "
    "is missing or comes too late (AR301, AR304).",
)

AR802 = Code(
    id="AR802",
    name="result-mismatch",
    what="A rank's output differs from the reference by more than the tolerance of "
    "its element type.",
    why="The program ran to its end and computed something else. The message names the "
    "rank, the first index, what was wanted and what was there.",
    example="""\
error[AR802] result-mismatch: rank 2, index 1024: wanted 10.0, got 6.0""",
    fix="Run `allreduce-gen check` on the file. A value that lacks one rank points to "
    "a race (AR401) or a missing contribution (AR405).",
)

AR803 = Code(
    id="AR803",
    name="time-limit",
    what="The run did not end within its limit.",
    why="An engine with real processes cannot tell a slow rank from a blocked one, so "
    "it stops after a limit and says so.",
    example="""\
error[AR803] time-limit: stopped after 60 s; ranks 1 and 3 had not ended""",
    fix="Run it on the simulator, which finds a deadlock at once and names it. If the "
    "program is only slow, use a smaller size.",
)

AR804 = Code(
    id="AR804",
    name="rank-lost",
    what="The process of a rank ended before its work was done.",
    why="Its peers then wait for signals that never come. The cause is in the lost "
    "rank: an assertion of the device, too little memory, a signal from outside.",
    example="""\
error[AR804] rank-lost: rank 3 ended with status -9""",
    fix="Look at the output of the lost rank, and at the memory of the machine.",
)

AR901 = Code(
    id="AR901",
    name="invariant-broken",
    what="allreduce-gen found its own data in a state that it should never be in.",
    why="This is a fault of allreduce-gen and not of the input. Nothing was written.",
    example="""\
error[AR901] invariant-broken: a plan without steps""",
    fix="Report it, with the command that was given and the traceback.",
)
