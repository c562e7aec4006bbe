"""Source files as text and syntax trees, and the functions in them."""

from __future__ import annotations

import ast
from pathlib import Path
from types import CodeType

from allreduce_gen.diagnostics import Location, codes, diagnose
from allreduce_gen.errors import CompileError


def unreadable(
    file: str, line: int | None, message: str, *, help: str = "correct this line"
) -> CompileError:
    """The AR704 to raise for `file`."""
    location = Location(file=file, line=line)
    return CompileError([diagnose(codes.AR704, message, help=help, location=location)])


_A_PROGRAM = "give the path of a Python file that defines a pypto program"


def read_source(path: Path) -> bytes:
    """The content of the file at `path`. Raises CompileError AR704."""
    file = str(path)
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise unreadable(
            file, None, f"{file} does not exist", help=_A_PROGRAM
        ) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise unreadable(
            file, None, f"{file} cannot be read: {reason}", help=_A_PROGRAM
        ) from None
    if not text.strip():
        raise unreadable(file, None, f"{file} is empty", help=_A_PROGRAM)
    return text


def parse_source(text: bytes, file: str) -> tuple[ast.Module, CodeType]:
    """The syntax tree of `text`, and what runs it.

    Raises CompileError AR704 where it is not Python.
    """
    try:
        tree = ast.parse(text, filename=file)
        return tree, compile(tree, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:  # null bytes have no line
        what = error.msg if isinstance(error, SyntaxError) else str(error)
        line = error.lineno if isinstance(error, SyntaxError) else None
        help = "correct this line" if line else _A_PROGRAM
        message = f"{file} is not Python: {what}"
        raise unreadable(file, line, message, help=help) from None


class SourceFiles:
    """The syntax trees of the files that a load has met so far."""

    def __init__(self) -> None:
        self._functions: dict[str, dict[tuple[str, int], ast.FunctionDef]] = {}

    def add(self, file: str, tree: ast.Module) -> None:
        """Know `tree` as the content of `file`."""
        self._functions[file] = {
            (node.name, _first_line(node)): node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef)
        }

    def find_function(self, code: CodeType) -> ast.FunctionDef:
        """The definition that `code` was made of. Raises CompileError AR704."""
        file = code.co_filename
        if file not in self._functions:
            self.add(file, parse_source(read_source(Path(file)), file)[0])
        found = self._functions[file].get((code.co_name, code.co_firstlineno))
        if found is None:
            message = f"the source of {code.co_name} is not in {file}"
            raise unreadable(file, code.co_firstlineno, message)
        return found


def _first_line(node: ast.FunctionDef) -> int:
    """The line of the first decorator, which is what code objects count from."""
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])
