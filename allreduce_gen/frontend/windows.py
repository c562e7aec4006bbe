"""Window buffers of the HOST orchestrator, and what they are called.

A buffer is named after the one window that is made of it, which is what kernels and
messages call it: `data_buf` with `data = pld.window(data_buf, ...)` is "data".
"""

from __future__ import annotations

import ast

from allreduce_gen.ir.memory import Buffer, BufferKind

from .context import Context, Typed
from .machine import Frame
from .program import Function
from .types import BufferType


def allocation(context: Context, node: ast.stmt, name: str, size: Typed) -> Typed:
    """The buffer that `name = pld.alloc_window_buffer(...)` makes."""
    if context.scope.type_of(name) is not None:
        raise context.refuse(
            node,
            f"the window buffer {name} is declared twice",
            help="give each buffer a name of its own",
        )
    label = buffer_names(context.function).get(name)
    if label is None:
        raise context.refuse(
            node,
            f"no window is made of the buffer {name}",
            help=f"write `data = pld.window({name}, shape, dtype=...)`, or remove it",
        )
    num_bytes = size.run

    def run(frame: Frame) -> Buffer:
        nbytes = num_bytes(frame)
        if nbytes <= 0:
            raise context.refuse(
                node,
                f"the window buffer {name} has {nbytes} bytes",
                help="allocate at least one byte",
            )
        frame.machine.allocated[label] = node.lineno
        return Buffer(name=label, kind=BufferKind.WINDOW, nbytes=nbytes)

    return Typed(BufferType(), run)


def buffer_names(host: Function) -> dict[str, str]:
    """For each buffer of `host` that has a window, by its variable: its name."""
    windows: dict[str, str] = {}
    for statement in host.body:
        for node in ast.walk(statement):
            made = _window_made(node)
            if made is not None:
                windows.setdefault(made[0], made[1])
    taken = [*windows.values(), *(one.name for one in host.parameters)]
    return {
        buffer: window if taken.count(window) == 1 else buffer
        for buffer, window in windows.items()
    }


def _window_made(node: ast.AST) -> tuple[str, str] | None:
    """Buffer and window of `window = pld.window(buffer, ...)`."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=window)],
            value=ast.Call(
                func=ast.Attribute(attr="window"), args=[ast.Name(id=buffer), *_]
            ),
        ):
            return buffer, window
        case ast.Assign(
            targets=[ast.Name(id=window)],
            value=ast.Call(func=ast.Attribute(attr="window"), keywords=keywords),
        ):
            for one in keywords:
                if one.arg == "buf" and isinstance(one.value, ast.Name):
                    return one.value.id, window
    return None
