"""What is refused, by name: AR703 with the line, the reason and what to write instead.

The tables list the constructs that pypto's frontend refuses too; what only this
frontend lacks says so in its text.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from allreduce_gen.diagnostics import Location, codes, diagnose
from allreduce_gen.errors import CompileError


def refusal(file: str, line: int | None, message: str, *, help: str) -> CompileError:
    """The AR703 to raise for what stands at `file`:`line`."""
    location = Location(file=file, line=line)
    return CompileError([diagnose(codes.AR703, message, help=help, location=location)])


class NeedsScriptError(CompileError):
    """The file has no program before it is run as a script, or runs one by itself."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A construct that has no meaning in a kernel, and what does its work there."""

    what: str
    instead: str


REFUSED_STATEMENTS: dict[type[ast.stmt], Refused] = {
    ast.AugAssign: Refused(
        "augmented assignment", "write `total = total + value`; for tiles, `pl.add`"
    ),
    ast.Break: Refused(
        "break", "put the condition in a `while` loop, or guard the rest with `if`"
    ),
    ast.FunctionDef: Refused(
        "a nested function", "make it a method of type pl.FunctionType.Inline"
    ),
    ast.AsyncFunctionDef: Refused("a nested function", "write the body in place"),
    ast.ClassDef: Refused("a nested class", "move it out of the kernel"),
    ast.Assert: Refused("assert", 'use `pl.static_assert(condition, "text")`'),
    ast.Try: Refused("try", "kernels raise nothing; remove it"),
    ast.Raise: Refused("raise", "kernels raise nothing; remove it"),
    ast.Delete: Refused("del", "remove it: names end with the function"),
    ast.Import: Refused("import", "import at the top of the file"),
    ast.ImportFrom: Refused("import", "import at the top of the file"),
    ast.Global: Refused("global", "pass the value as a parameter"),
    ast.Nonlocal: Refused("nonlocal", "pass the value as a parameter"),
    ast.Match: Refused("match", "write `if` and `else`"),
    ast.AsyncFor: Refused("async", "write `for ... in pl.range(...)`"),
    ast.AsyncWith: Refused("async", "write `with pl.spmd(...)`"),
}

REFUSED_EXPRESSIONS: dict[type[ast.expr], Refused] = {
    ast.IfExp: Refused(
        "a conditional expression", "write `if` and `else` statements, or `pl.min`"
    ),
    ast.JoinedStr: Refused("an f-string", "kernels hold no text; remove it"),
    ast.Lambda: Refused("lambda", "write the expression in place"),
    ast.ListComp: Refused("a comprehension", "write a `pl.range` loop"),
    ast.SetComp: Refused("a comprehension", "write a `pl.range` loop"),
    ast.DictComp: Refused("a comprehension", "write a `pl.range` loop"),
    ast.GeneratorExp: Refused("a comprehension", "write a `pl.range` loop"),
    ast.NamedExpr: Refused("an assignment expression", "assign on a line of its own"),
    ast.Dict: Refused("a dict", "use one name for each value"),
    ast.Set: Refused("a set", "use one name for each value"),
    ast.Starred: Refused("unpacking with *", "write every argument"),
    ast.Await: Refused("await", "kernels are not asynchronous; remove it"),
    ast.Yield: Refused("yield", "return the value at the end"),
    ast.YieldFrom: Refused("yield", "return the value at the end"),
    ast.Slice: Refused("a slice", "give offsets and shape to `pl.load`"),
}

REFUSED_OPERATORS: dict[type[ast.operator], Refused] = {
    ast.Pow: Refused("`**`", "use `1 << k`, or compute it outside the kernel"),
    ast.BitXor: Refused(
        "`^`",
        "write the partner as `me + d - 2 * d * bit` with `bit = (me // d) % 2`",
    ),
    ast.BitAnd: Refused("`&`", "use `%`, or `and` for conditions"),
    ast.BitOr: Refused("`|`", "use `+`, or `or` for conditions"),
    ast.MatMult: Refused("`@`", "cube operations are not part of a collective"),
    ast.Div: Refused("`/` of run-time scalars", "use `//`, or `pl.div` for tiles"),
}

REFUSED_CALLS: dict[str, Refused] = {
    "range": Refused("Python's range", "write `pl.range(...)`"),
    "print": Refused("print", "remove it, or use `pl.static_print`"),
    "min": Refused("Python's min", "write `pl.min(a, b)`"),
    "max": Refused("Python's max", "write `pl.max(a, b)`"),
    "len": Refused("Python's len", "use a module constant"),
}
