"""What a declaration may look like to do no work: plain annotations, constant values, empty bodies."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verdigris.languages.python.stuborigins import Origins

Function = ast.FunctionDef | ast.AsyncFunctionDef

_FACTORIES = frozenset(
    f"builtins.{name}"
    for name in ("list", "dict", "set", "tuple", "frozenset", "str", "int", "float", "bytes")
)
_TYPE_MAKERS = frozenset(
    f"{module}.{name}"
    for module in ("typing", "typing_extensions")
    for name in ("TypeVar", "ParamSpec", "TypeVarTuple", "NewType")
)
_FIELDS = frozenset({"dataclasses.field", "attrs.field", "attr.ib", "attr.field", "pydantic.Field"})


def constant(node: ast.expr | None, *, mutable: bool = True) -> bool:
    match node:
        case ast.Constant() | ast.Name(id="NotImplemented") | ast.UnaryOp(operand=ast.Constant()):
            return True
        case ast.Tuple(elts=parts):
            return all(constant(part, mutable=mutable) for part in parts)
        case ast.List(elts=parts) | ast.Set(elts=parts):
            return mutable and all(map(constant, parts))
        case ast.Dict(keys=keys, values=values):
            return mutable and all(map(constant, [*keys, *values]))
        case _:
            return False


def plain(node: ast.expr | None) -> bool:
    """An annotation or base class: names, attributes, subscripts, unions; nothing is called."""
    match node:
        case None | ast.Constant() | ast.Name() | ast.UnaryOp(operand=ast.Constant()):
            return True
        case ast.Attribute(value=value) | ast.Starred(value=value):
            return plain(value)
        case ast.Subscript(value=value, slice=index):
            return plain(value) and plain(index)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return plain(left) and plain(right)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return all(map(plain, parts))
        case _:
            return False


def last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_type_checking(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and last_name(node.test) == "TYPE_CHECKING"


def exported(node: ast.stmt) -> frozenset[str] | None:
    """The names of a literal `__all__ = [...]`."""
    match node:
        case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=parts) | ast.Tuple(elts=parts)):
            names = [
                part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)
            ]
            return frozenset(names) if len(names) == len(parts) else None
        case _:
            return None


def makes_type(node: ast.stmt, origins: Origins) -> bool:
    """`T = TypeVar("T")` and its like, or a `type` statement."""
    match node:
        case ast.Assign(targets=[ast.Name()], value=ast.Call(func=func, args=args, keywords=keywords)):
            values = [*args, *(keyword.value for keyword in keywords)]
            return origins.origin(func) in _TYPE_MAKERS and plain(func) and all(map(plain, values))
        case _:
            return type(node).__name__ == "TypeAlias"


def field_fault(node: ast.AnnAssign, origins: Origins) -> str | None:
    if not isinstance(node.target, ast.Name):
        return "the statement does work"
    if not plain(node.annotation):
        return "the annotation is not plain"
    alias = last_name(node.annotation) == "TypeAlias" and plain(node.value)
    if node.value is None or alias or constant(node.value) or _is_field(node.value, origins):
        return None
    return "the value is not a constant"


def _is_field(node: ast.expr, origins: Origins) -> bool:
    match node:
        case ast.Call(func=func, args=[], keywords=keywords) if origins.origin(func) in _FIELDS:
            return all(
                origins.origin(k.value) in _FACTORIES if k.arg == "default_factory" else constant(k.value)
                for k in keywords
            )
        case _:
            return False


def function_fault(node: Function, origins: Origins) -> str | None:
    """Why a new function is more than a signature, or None."""
    spec = node.args
    parameters = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *filter(None, (spec.vararg, spec.kwarg))]
    defaults = [*spec.defaults, *filter(None, spec.kw_defaults)]
    if not all(constant(default, mutable=False) for default in defaults):
        return "a default is not a constant"
    if not all(map(plain, [node.returns, *(parameter.annotation for parameter in parameters)])):
        return "an annotation is not plain"
    if not all(_harmless(decorator, node.name, origins) for decorator in node.decorator_list):
        return "the decorator does work"
    if not all(map(_is_empty, node.body)):
        return "the body does more than raise, pass or return a constant"
    return _type_parameter_fault(node)


def class_header_fault(node: ast.ClassDef, origins: Origins) -> str | None:
    if not all(map(plain, [*node.bases, *(keyword.value for keyword in node.keywords)])):
        return "a base class is not plain"
    if not all(_harmless(decorator, node.name, origins) for decorator in node.decorator_list):
        return "the decorator does work"
    return _type_parameter_fault(node)


def _type_parameter_fault(node: ast.AST) -> str | None:
    bounds = [
        b
        for p in getattr(node, "type_params", ())
        for b in ast.iter_child_nodes(p)
        if isinstance(b, ast.expr)
    ]
    return None if all(map(plain, bounds)) else "a type parameter is not plain"


def _harmless(decorator: ast.expr, name: str, origins: Origins) -> bool:
    match decorator:
        case ast.Attribute(value=ast.Name(id=owner), attr="setter" | "getter" | "deleter"):
            return owner == name
        case ast.Call(func=func, args=args, keywords=keywords):
            # A text could name what is to be loaded.
            given = [*args, *(keyword.value for keyword in keywords)]
            return origins.wraps_only(func) and all(constant(one) and not _has_text(one) for one in given)
        case _:
            return origins.wraps_only(decorator)


def _has_text(node: ast.expr) -> bool:
    return any(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in ast.walk(node))


def _is_empty(node: ast.stmt) -> bool:
    match node:
        case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.Return(value=None):
            return True
        case ast.Return(value=value):
            return constant(value)
        case ast.Raise(exc=exception, cause=None | ast.Constant(value=None)):
            return _is_exception(exception)
        case _:
            return False


def _is_exception(node: ast.expr | None) -> bool:
    match node:
        case ast.Call(func=func, args=args, keywords=keywords):
            return _is_exception(func) and all(
                map(constant, [*args, *(keyword.value for keyword in keywords)])
            )
        case ast.Name() | ast.Attribute():
            # A call of a lower-case name would run a function, whatever it returns.
            return plain(node) and last_name(node).lstrip("_")[:1].isupper()
        case _:
            return False
