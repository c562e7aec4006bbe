"""AR6xx: from the plan to a file."""

from __future__ import annotations

from allreduce_gen.diagnostics.model import Code

AR601 = Code(
    id="AR601",
    name="template-field-missing",
    what="A template cannot be filled in: it asks for a field that the view of the "
    "plan does not have, or it is not valid itself.",
    why="A missing field would print as nothing, and the kernel would be another one. "
    "Templates are therefore strict. An installed package does not show this; a "
    "template that was edited by hand may.",
    example="""\
{{ view.num_rank }}  {# the field is num_ranks #}""",
    fix="Correct the name in the template. The fields are those of the view class in "
    "the emitter package.",
)

AR602 = Code(
    id="AR602",
    name="emitted-source-invalid",
    what="The emitted text is not a Python program that the frontend can read.",
    why="Every kernel is read back before it is written. Text that does not parse, or "
    "uses what pypto refuses, must not reach a file.",
    example="""\
error[AR602] emitted-source-invalid: line 74: '(' was never closed""",
    fix="If a template was changed, look at the line that the message names. If not, "
    "this is a fault of allreduce-gen: report it with the command that was given.",
)

AR603 = Code(
    id="AR603",
    name="source-differs-from-plan",
    what="The emitted source, read back, does something else than the plan.",
    why="The plan is what was proved. The source is traced again, as any file is, and "
    "both traces must be equal event by event; otherwise the proof says nothing about "
    "the file.",
    example="""\
error[AR603] source-differs-from-plan: rank 1, event 6
   = plan: wait signal[0, 2] expected=1
   = source: wait signal[1, 2] expected=1""",
    fix="If a template was changed, make it say what the plan says at that event. If "
    "not, report it with the command that was given.",
)

AR604 = Code(
    id="AR604",
    name="output-not-writable",
    what="The output file cannot be written.",
    why="A kernel is written whole or not at all: into a temporary file beside the "
    "target, which then replaces it. The folder must exist and be writable, and an "
    "existing file must have its write permission.",
    example="allreduce-gen --ranks 4 --size 4096 -o missing/kernel.py",
    fix="Create the folder, change the permission, or choose another place. Without "
    "`-o` the source goes to standard output.",
)
