"""What compiles and calls programs while a script is executed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allreduce_gen.spec import DType

from .library import Library
from .program import Program
from .refusals import refusal
from .session import Session, Target
from .standins import Decorated, DistributedCompiledProgram

DEFAULT_PLATFORM = "a2a3sim"


class Runtime:
    """`ir.compile` and its kin, for one script or one pytest session."""

    def __init__(self, library: Library, session: Session) -> None:
        self._library = library
        self._session = session
        self._compiled: dict[Any, DistributedCompiledProgram] = {}

    def compile(
        self,
        program: Any,
        output_dir: Any = None,
        *,
        platform: str | None = None,
        distributed_config: Any = None,
        **options: Any,
    ) -> DistributedCompiledProgram:
        """`ir.compile(program, ...)`. Raises CompileError for what is refused."""
        del output_dir, options  # nothing is generated
        if not isinstance(program, Program):
            raise TypeError(f"ir.compile takes a @pl.program, got {program!r}")
        target = Target(
            platform=platform or DEFAULT_PLATFORM, num_ranks=_ranks(distributed_config)
        )
        return self._compile(program, target)

    def compile_jit(
        self,
        decorated: Decorated,
        arguments: tuple[Any, ...],
        named: dict[str, Any],
        config: Any,
    ) -> DistributedCompiledProgram:
        """A jit function for tensors like these, with the values of these scalars.

        Raises CompileError AR703 where it says nothing about a scalar.
        """
        given = {**dict(zip(decorated.parameters, arguments, strict=False)), **named}
        shapes = {name: _shape(one) for name, one in given.items()}
        types = {name: element_type(one) for name, one in given.items()}
        fixed = {name: one for name, one in given.items() if _is_number(one)}
        platform = getattr(config, "platform", None) or DEFAULT_PLATFORM
        ranks = _ranks(getattr(config, "distributed_config", None))
        key = (decorated, *(tuple(one.items()) for one in (shapes, types, fixed)))
        key = (*key, platform, ranks)
        if key not in self._compiled:
            program = self._library.jit_program(decorated, shapes, types)
            _refuse_missing(program, given)
            target = Target(
                platform=platform,
                num_ranks=ranks,
                shapes={name: one for name, one in shapes.items() if one is not None},
                fixed=fixed,
            )
            self._compiled[key] = self._compile(program, target)
        return self._compiled[key]

    def _compile(self, program: Program, target: Target) -> DistributedCompiledProgram:
        runner = self._session.compile(program, target)
        return DistributedCompiledProgram(
            runner, program=program, platform=target.platform
        )


def _ranks(config: Any) -> int | None:
    """How many devices a script asks for, where it says."""
    ids = getattr(config, "device_ids", None)
    return None if ids is None else len(ids)


def _refuse_missing(program: Program, given: Mapping[str, Any]) -> None:
    """A compiled jit function has a value for each scalar, or leaves it open."""
    for name in program.scalars:
        if name not in given:
            raise refusal(
                program.source,
                program.line,
                f"{program.name} is compiled without a value for {name}",
                help=f"pass `{name}=pl.RUNTIME` where every call has its own, or the "
                "one value that all calls use",
            )


def _is_number(one: Any) -> bool:
    return isinstance(one, int | float) and not isinstance(one, bool)


def _shape(tensor: Any) -> tuple[int, ...] | None:
    """The shape of an example argument; None for a number."""
    shape = getattr(tensor, "shape", None)
    return None if shape is None else tuple(int(extent) for extent in shape)


def element_type(tensor: Any) -> DType | None:
    """The element type of a tensor, numpy's or torch's; None for what has none."""
    name = str(getattr(tensor, "dtype", "")).removeprefix("torch.")
    return _ELEMENTS.get(name)


_ELEMENTS = {
    "float32": DType.FP32,
    "float16": DType.FP16,
    "bfloat16": DType.BF16,
    **{
        one.value: one
        for one in DType
        if not one.is_float  # int32, uint8, bool: the same words
    },
}
