"""AR1xx and AR2xx: what is asked for, and the plan for it."""

from __future__ import annotations

from allreduce_gen.diagnostics.model import Code

AR101 = Code(
    id="AR101",
    name="too-few-ranks",
    what="The number of ranks is below 1.",
    why="An all-reduce has at least one participant. With one rank it is the "
    "identity: y is a copy of x.",
    example="allreduce-gen --ranks 0 --size 4096",
    fix="Give `--ranks` a number from 1 to 64.",
)

AR102 = Code(
    id="AR102",
    name="bad-size",
    what="The number of elements that each rank contributes is below 1.",
    why="Tensors, windows and chunks all get their extents from the size, and an "
    "empty tile cannot be loaded.",
    example="allreduce-gen --ranks 4 --size 0",
    fix="Give `--size` at least 1. It counts elements, not bytes, and takes the "
    "suffixes K and M (1024-based): 4096, 64K, 1M.",
)

AR103 = Code(
    id="AR103",
    name="size-not-divisible",
    what="The ranks cannot own chunks of equal size in whole 32-byte blocks, and "
    "`--strict-divisible` asks for that.",
    why="With a chunk of size // ranks the last elements belong to no chunk. Nobody "
    "reduces them, and the program still compiles and runs: the tail is silently "
    "wrong. A chunk whose bytes are no multiple of 32 cannot be loaded as it is.",
    example="""\
allreduce-gen --ranks 3 --size 4096

4096 = 3 * 1365 + 1: one element would belong to nobody. 4080 and 4104 are the
nearest sizes that divide by 3 into chunks of whole 32-byte blocks.""",
    fix="Take one of the sizes that the message names, and pad the input to it; or "
    "leave out `--strict-divisible`, and the kernel does what is needed.",
)

AR104 = Code(
    id="AR104",
    name="dtype-unsupported",
    what="The element type cannot be reduced or cast on this platform.",
    why="pypto accepts arithmetic in any type all the same. The build fails later, in "
    "the assembler or in a static assertion of the instruction library: the vector "
    "adder of A2 and A3, for one, takes no BF16 and no 8-bit integers. A cast that no "
    "instruction makes, such as INT16 to INT32 there, is refused by pypto.",
    example="""\
acc = pl.add(acc, contribution)  # two BF16 tiles: pypto compiles this for a2a3,
                                 # the instruction library then refuses it""",
    fix="Use one of the element types that the message lists for the platform.",
)

AR105 = Code(
    id="AR105",
    name="op-unsupported",
    what="The reduction operator is not available for this element type and platform.",
    why="A kernel is written only from vector instructions that the platform has for "
    "that element type. There is no slow path to fall back to.",
    example="""\
error[AR105] op-unsupported: no reduction is named xor
   = help: the operators are: sum""",
    fix="Use one of the operators that the message lists.",
)

AR106 = Code(
    id="AR106",
    name="too-many-ranks",
    what="The number of ranks is above 64.",
    why="The communication context of the runtime has room for 64 ranks. pypto "
    "compiles 65 and more without a word; the limit shows only when the program runs.",
    example="allreduce-gen --ranks 65 --size 66560",
    fix="Use at most 64 ranks. For more, reduce within groups of ranks first.",
)

AR107 = Code(
    id="AR107",
    name="bad-option",
    what="An option is unknown, missing or malformed, or its value does not fit the "
    "kernel or the other options.",
    why="A kernel is made for exactly the numbers that were given. A guess at what an "
    "option was meant to say, or ignoring it, would give another kernel, or another "
    "run, than the one asked for.",
    example="""\
allreduce-gen --ranks four --size 4096
allreduce-gen --ranks 4 --size 4096 --run  # --run needs a file: -o FILE""",
    fix="Change the option as the message says. `--help` after a command lists its "
    "options and their words.",
)

AR201 = Code(
    id="AR201",
    name="no-plan-for-spec",
    what="The spec is valid, but the chosen algorithm has no plan for it.",
    why="A plan must fit the platform: its tiles in the on-chip buffer, its signal "
    "rows in the signal window, its ranks in the algorithm's pattern. The planner "
    "says which of these fails instead of emitting a kernel that does not fit.",
    example="""\
error[AR201] no-plan-for-spec: two live tiles of 262144 bytes exceed the on-chip
buffer of 188416 bytes""",
    fix="Change what the message names: the size, the number of ranks, the algorithm "
    "or the platform.",
)
