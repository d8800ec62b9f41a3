"""Decides what a stub may look like in Python, and how a statement may grow without new behaviour."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.core.languages import STUB_MARK as MARK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdigris.languages.python.stubs.origins import Origins


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


def is_constant(node: ast.expr | None, *, mutable: bool = True) -> bool:
    match node:
        case ast.Constant() | ast.Name(id="NotImplemented") | ast.UnaryOp(operand=ast.Constant()):
            return True
        case ast.Tuple(elts=parts):
            return all(is_constant(part, mutable=mutable) for part in parts)
        case ast.List(elts=parts) | ast.Set(elts=parts):
            return mutable and all(map(is_constant, parts))
        case ast.Dict(keys=keys, values=values):
            return mutable and all(map(is_constant, [*keys, *values]))
        case _:
            return False


def is_plain(node: ast.expr | None) -> bool:
    """Whether an annotation or base class has only names, attributes, subscripts and unions, and no call."""
    match node:
        case None | ast.Constant() | ast.Name() | ast.UnaryOp(operand=ast.Constant()):
            return True
        case ast.Attribute(value=value) | ast.Starred(value=value):
            return is_plain(value)
        case ast.Subscript(value=value, slice=index):
            return is_plain(value) and is_plain(index)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return is_plain(left) and is_plain(right)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return all(map(is_plain, parts))
        case _:
            return False


def last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def owner_name(node: ast.expr) -> str:
    """The last name of an attribute's owner; empty if the node is no attribute."""
    return last_name(node.value) if isinstance(node, ast.Attribute) else ""


def parametrized_names(node: ast.expr) -> list[str]:
    """The names in the first argument of `parametrize`: a text with commas, or a list of texts."""
    texts = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    joined = ",".join(str(text.value) for text in texts if isinstance(text, ast.Constant))
    return [name.strip() for name in joined.split(",") if name.strip()]


def count_names(tree: ast.AST, name: str, context: type[ast.expr_context]) -> int:
    """How often a name is loaded or stored, as `context` says."""
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name)
    return sum(isinstance(node.ctx, context) for node in names)


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_type_checking(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and last_name(node.test) == "TYPE_CHECKING"


def is_elsewhere(test: ast.expr) -> bool:
    """Whether code under this condition runs only for a type checker, or only in a program."""
    return "__main__" in ast.unparse(test) or last_name(test) == "TYPE_CHECKING"


def read_exports(node: ast.stmt) -> frozenset[str] | None:
    """The names in a literal `__all__ = [...]`; None if the statement is anything else."""
    match node:
        case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=parts) | ast.Tuple(elts=parts)):
            names = [
                part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)
            ]
            return frozenset(names) if len(names) == len(parts) else None
        case _:
            return None


def makes_type(node: ast.stmt, origins: Origins) -> bool:
    """Whether a statement only makes a type: `T = TypeVar("T")` and its like, or a `type` statement."""
    match node:
        case ast.Assign(targets=[ast.Name()], value=ast.Call(func=func, args=args, keywords=keywords)):
            values = [*args, *(keyword.value for keyword in keywords)]
            return origins.origin(func) in _TYPE_MAKERS and is_plain(func) and all(map(is_plain, values))
        case _:
            return type(node).__name__ == "TypeAlias"


def field_fault(node: ast.AnnAssign, origins: Origins) -> str | None:
    if not isinstance(node.target, ast.Name):
        return "the statement does work"
    if not is_plain(node.annotation):
        return "the annotation does more than name types"
    alias = last_name(node.annotation) == "TypeAlias" and is_plain(node.value)
    if node.value is None or alias or is_constant(node.value) or _is_field(node.value, origins):
        return None
    return "the value is not a constant"


def _is_field(node: ast.expr, origins: Origins) -> bool:
    match node:
        case ast.Call(func=func, args=[], keywords=keywords) if origins.origin(func) in _FIELDS:
            return all(
                origins.origin(k.value) in _FACTORIES if k.arg == "default_factory" else is_constant(k.value)
                for k in keywords
            )
        case _:
            return False


def function_fault(node: Function, origins: Origins) -> str | None:
    """Why a new function is more than a stub; None if it is one."""
    spec = node.args
    parameters = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *filter(None, (spec.vararg, spec.kwarg))]
    defaults = [*spec.defaults, *filter(None, spec.kw_defaults)]
    if not all(is_constant(default, mutable=False) for default in defaults):
        return "a default is not a constant"
    if not all(map(is_plain, [node.returns, *(parameter.annotation for parameter in parameters)])):
        return "an annotation does more than name types"
    if not all(_is_harmless(decorator, node.name, origins) for decorator in node.decorator_list):
        return "the decorator does work"
    if not all(map(is_empty_statement, node.body)):
        return "the body does more than raise, pass or return a constant"
    return _type_parameter_fault(node)


def class_header_fault(node: ast.ClassDef, origins: Origins) -> str | None:
    if not all(map(is_plain, [*node.bases, *(keyword.value for keyword in node.keywords)])):
        return "a base class is more than a name"
    if not all(_is_harmless(decorator, node.name, origins) for decorator in node.decorator_list):
        return "the decorator does work"
    return _type_parameter_fault(node)


def _type_parameter_fault(node: ast.AST) -> str | None:
    bounds = [
        b
        for p in getattr(node, "type_params", ())
        for b in ast.iter_child_nodes(p)
        if isinstance(b, ast.expr)
    ]
    return None if all(map(is_plain, bounds)) else "a type parameter does more than name types"


def _is_harmless(decorator: ast.expr, name: str, origins: Origins) -> bool:
    match decorator:
        case ast.Attribute(value=ast.Name(id=owner), attr="setter" | "getter" | "deleter"):
            return owner == name
        case ast.Call(func=func, args=args, keywords=keywords):
            # A text may name a module that the decorator loads, so no text is allowed.
            given = [*args, *(keyword.value for keyword in keywords)]
            return origins.wraps_only(func) and all(is_constant(one) and not _has_text(one) for one in given)
        case _:
            return origins.wraps_only(decorator)


def _has_text(node: ast.expr) -> bool:
    return any(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in ast.walk(node))


def is_empty_statement(node: ast.stmt) -> bool:
    match node:
        case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.Return(value=None):
            return True
        case ast.Return(value=value):
            return is_constant(value)
        case ast.Raise(exc=exception, cause=None | ast.Constant(value=None)):
            return _is_exception(exception)
        case _:
            return False


def _is_exception(node: ast.expr | None) -> bool:
    match node:
        case ast.Call(func=func, args=args, keywords=keywords):
            return _is_exception(func) and all(
                map(is_constant, [*args, *(keyword.value for keyword in keywords)])
            )
        case ast.Name() | ast.Attribute():
            # A lower-case name may be a function, which would do work.
            return is_plain(node) and last_name(node).lstrip("_")[:1].isupper()
        case _:
            return False


def first_line_of(node: ast.stmt, width: int = 60) -> str:
    text = ast.unparse(node).splitlines()[0]
    return text if len(text) <= width else f"{text[: width - 1]}…"


def describe(node: ast.stmt) -> str:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return f"`{name}`"
        case ast.AnnAssign(target=ast.Name(id=name)):
            return f"`{name}`"
        case _:
            return f"`{first_line_of(node, 40)}`"


def signature_fault(old: Function, new: Function, *, marked: bool) -> str | None:
    name = f"`{new.name}`"
    if not are_equal(old.body, new.body):
        return f"the body of {name} was changed; existing code stays as it is until a red test is claimed"
    if not marked:
        return f"the signature of {name} was changed, and it is not marked {MARK}"
    more = _more_parameters(old.args, new.args) if are_equal(type_params(old), type_params(new)) else None
    same_result = are_equal([old.returns], [new.returns]) or (old.returns is None and is_plain(new.returns))
    if more is None or not same_result:
        return f"the parameters of {name} may only be added to, at the end"
    used = {node.id for statement in new.body for node in ast.walk(statement) if isinstance(node, ast.Name)}
    for parameter, default in more:
        if parameter.arg in used:
            return f"a parameter `{parameter.arg}` would hide what the body of {name} uses"
        if default is None or not is_constant(default, mutable=False) or not is_plain(parameter.annotation):
            return f"the new parameter `{parameter.arg}` of {name} needs a default that is a constant"
    return None


def _more_parameters(old: ast.arguments, new: ast.arguments) -> list[tuple[ast.arg, ast.expr | None]] | None:
    """The added parameters with their defaults; None if the old parameters are not all there, unchanged."""
    count = len(old.args)
    kept = are_equal(old.posonlyargs, new.posonlyargs) and are_equal(old.args, new.args[:count])
    extra = new.args[count:]
    if not kept or not are_equal([old.vararg, old.kwarg], [new.vararg, new.kwarg]) or (extra and old.vararg):
        return None
    if not are_equal(old.defaults, new.defaults[: len(old.defaults)]):
        return None
    defaults = new.defaults[len(old.defaults) :]
    if len(defaults) != len(extra):
        return None
    before = {
        ast.dump(parameter): default
        for parameter, default in zip(old.kwonlyargs, old.kw_defaults, strict=True)
    }
    named = list(zip(new.kwonlyargs, new.kw_defaults, strict=True))
    unchanged = [(p, d) for p, d in named if ast.dump(p) in before and are_equal([before[ast.dump(p)]], [d])]
    if len(unchanged) != len(before):
        return None
    return [*zip(extra, defaults, strict=True), *(pair for pair in named if pair not in unchanged)]


def type_params(node: ast.stmt) -> list[ast.AST]:
    return getattr(node, "type_params", [])


def aliases(node: ast.Import | ast.ImportFrom) -> frozenset[tuple[str, str | None]]:
    return frozenset((alias.name, alias.asname) for alias in node.names)


def are_equal(old: Iterable[ast.AST | None], new: Iterable[ast.AST | None]) -> bool:
    def dumps(nodes: Iterable[ast.AST | None]) -> list[str | None]:
        return [None if node is None else ast.dump(node) for node in nodes]

    return dumps(old) == dumps(new)
