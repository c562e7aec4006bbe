"""What annotations and decorator options say, as types and kinds of functions."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping
from typing import Any

from allreduce_gen.spec import DType

from .program import Function, Kind, Parameter
from .refusals import refusal
from .source import SourceFiles
from .standins import Annotation, DataType, Decorated, DynamicDim, Subscriptable
from .standins.enums import FunctionType, Level, Role
from .types import Dim, Dynamic, OpenType, ScalarType, TensorType

_KINDS = {
    FunctionType.InCore: Kind.INCORE,
    FunctionType.Orchestration: Kind.ORCHESTRATION,
    FunctionType.Inline: Kind.INLINE,
}
_TENSORS = {"Tensor": False, "DistributedTensor": True}


def read_function(
    decorated: Decorated,
    sources: SourceFiles,
    closure: Mapping[str, Any],
    position: int | None = None,
) -> Function:
    """The function as declared. Raises CompileError AR703 for what has no meaning."""
    code = decorated.function.__code__
    node = sources.find_function(code)
    return Function(
        name=decorated.name,
        kind=_kind(decorated, code.co_filename, node),
        file=code.co_filename,
        line=node.lineno,
        parameters=_parameters(node, code.co_filename, closure),
        body=tuple(node.body),
        closure=closure,
        declares_result=_declares_result(node, code.co_filename, closure),
        position=position,
        is_jit=bool(decorated.options.get("jit")),
    )


def _declares_result(
    node: ast.FunctionDef, file: str, closure: Mapping[str, Any]
) -> bool:
    """Whether a result is annotated, whose types must be ones that parameters have."""
    match node.returns:
        case None | ast.Constant(value=None):
            return False
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=types)):
            results = types
        case annotation:
            results = [annotation]
    for result in results:
        annotated_type(evaluate_annotation(result, file, closure), result, file)
    return True


def _kind(decorated: Decorated, file: str, node: ast.FunctionDef) -> Kind:
    options = decorated.options
    level, role = options.get("level"), options.get("role")
    if role is Role.Orchestrator and level is Level.HOST:
        return Kind.HOST
    if role is Role.Orchestrator and level is Level.CHIP:
        return Kind.ORCHESTRATION
    type_ = options.get("type")
    if level is None and role is None and type_ in _KINDS:
        return _KINDS[type_]
    asked = ", ".join(f"{key}={value}" for key, value in options.items())
    raise refusal(
        file,
        node.lineno,
        f"function {node.name} is of a kind that allreduce-gen does not interpret "
        f"({asked or 'no type given'})",
        help="use type=pl.FunctionType.InCore, Orchestration or Inline, or "
        "level=pl.Level.HOST with role=pl.Role.Orchestrator",
    )


def _parameters(
    node: ast.FunctionDef, file: str, closure: Mapping[str, Any]
) -> tuple[Parameter, ...]:
    arguments = node.args
    extra = (arguments.vararg, arguments.kwarg, *arguments.kwonlyargs)
    if any(extra) or arguments.defaults:
        raise refusal(
            file,
            node.lineno,
            f"function {node.name} has defaults, keyword-only or starred parameters",
            help="list every parameter by position, without a default",
        )
    listed = [*arguments.posonlyargs, *arguments.args]
    if listed and listed[0].arg == "self" and listed[0].annotation is None:
        del listed[0]
    parameters = tuple(_parameter(one, file, closure) for one in listed)
    _check_order(parameters, file)
    return parameters


def _check_order(parameters: tuple[Parameter, ...], file: str) -> None:
    """Refuse a tensor behind a scalar, which fails when pypto runs the program."""
    for scalar, tensor in itertools.pairwise(parameters):
        is_scalar = isinstance(scalar.type, ScalarType)
        if is_scalar and not isinstance(tensor.type, ScalarType):
            raise refusal(
                file,
                tensor.line,
                f"the tensor {tensor.name} comes after the scalar {scalar.name}",
                help="put scalar parameters last",
            )


def _parameter(node: ast.arg, file: str, closure: Mapping[str, Any]) -> Parameter:
    if node.annotation is None:
        raise refusal(
            file,
            node.lineno,
            f"parameter {node.arg} has no type annotation",
            help=f"write `{node.arg}: pl.Tensor[[1, SIZE], pl.FP32]`, or another type",
        )
    found = evaluate_annotation(node.annotation, file, closure)
    return Parameter(
        name=node.arg,
        type=annotated_type(found, node.annotation, file),
        direction=found.direction,
        line=node.lineno,
    )


def evaluate_annotation(
    node: ast.expr, file: str, closure: Mapping[str, Any]
) -> Annotation:
    """What the annotation `node` stands for among the names of `closure`."""
    code = compile(ast.Expression(body=node), file, "eval")
    try:
        found = eval(code, dict(closure))
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise _no_type(node, file, f"cannot be evaluated ({reason})") from None
    if isinstance(found, Subscriptable):
        return found.open()
    if not isinstance(found, Annotation):
        raise _no_type(node, file, "is no type of a parameter")
    return found


def _no_type(node: ast.expr, file: str, problem: str) -> Exception:
    return refusal(
        file,
        node.lineno,
        f"the annotation `{ast.unparse(node)}` {problem}",
        help="write pl.Tensor[[...], dtype], pld.DistributedTensor[[...], dtype] or "
        "pl.Scalar[dtype], with constants or pl.dynamic names as dimensions",
    )


def annotated_type(
    found: Annotation, node: ast.expr, file: str
) -> TensorType | ScalarType | OpenType:
    """The type that the annotation `node`, evaluated to `found`, stands for."""
    match found:
        case Annotation(kind=kind, arguments=()) if kind in _TENSORS:
            return OpenType(_TENSORS[kind])
        case Annotation(kind="Scalar", arguments=(DataType(name=name),)):
            return ScalarType(name)
        case Annotation(kind=kind, arguments=(list() | tuple() as dims, dtype)) if (
            kind in _TENSORS
        ):
            known = dtype.dtype if isinstance(dtype, DataType) else None
            shape = tuple(_dim(dim) for dim in dims)
            if isinstance(known, DType) and shape and None not in shape:
                kept = tuple(dim for dim in shape if dim is not None)
                return TensorType(kept, known, _TENSORS[kind])
    raise _no_type(node, file, "is no type that a collective can use")


def _dim(value: Any) -> Dim | None:
    if isinstance(value, DynamicDim):
        return Dynamic(value.name, value.extent)
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    return None
