"""Finds source that answers to please any test, or by state, and that catches what shows a failure."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.languages.python.concerns.names import returned_expressions
from verdigris.languages.python.stubs.forms import Function, is_constant, last_name, owner_name
from verdigris.languages.python.syntax import nodes_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from verdigris.languages.findings import Concern
    from verdigris.languages.python.concerns.names import Names, SeenNode

_COMPARISONS = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__"})
_SEQUENCES = frozenset({"builtins.iter", "itertools.count", "itertools.cycle", "itertools.chain"})
_DECISIONS = (ast.If, ast.IfExp, ast.While)


def nodes_of(body: Sequence[ast.AST]) -> list[ast.AST]:
    return [node for part in body for node in nodes_in(part)]


def find_agreeable_methods(at: SeenNode) -> Iterator[Concern]:
    """Finds classes whose objects equal, order or have everything."""
    for part in at.node.body if isinstance(at.node, ast.ClassDef) else ():
        match part:
            case ast.FunctionDef(name=name, args=ast.arguments(args=[me, other])) if name in _COMPARISONS:
                agrees = _agrees_always(part, me.arg, other.arg)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda(body=body)) if name in _COMPARISONS:
                agrees = _truth(body) is True
            case ast.FunctionDef(name="__getattr__", args=ast.arguments(args=[me, _])):
                if [last_name(answer) for answer in returned_expressions(part)] == [me.arg]:
                    yield at.concern("answers-everything", "`__getattr__` answers every attribute", part)
                continue
            case _:
                continue
        if agrees:
            yield at.concern("answers-everything", f"`{name}` does not compare the two", part)


def _agrees_always(method: ast.FunctionDef, me: str, other: str) -> bool:
    answers = returned_expressions(method)
    used = {node.id for node in nodes_of(answers) if isinstance(node, ast.Name)}
    mentioned = {node.id for node in nodes_of(method.body) if isinstance(node, ast.Name)}
    truths = [_truth(answer) for answer in answers]
    if not answers or False in truths or any(last_name(answer) == "NotImplemented" for answer in answers):
        return False
    blind = other not in mentioned or (me not in mentioned and not {"isinstance", "type"} & used)
    return blind or truths == [True] * len(answers)


def _truth(node: ast.expr) -> bool | None:
    match node:
        case ast.Constant(value=constant):
            return bool(constant)
        case ast.Compare(left=ast.Constant(), comparators=[ast.Constant()]):
            return True
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=constant)) if not constant:
            return True
    return None


def find_counters(at: SeenNode) -> Iterator[Concern]:
    """Finds a decision that depends on a value outside of the function which the function itself changes."""
    function = at.node
    if not isinstance(function, Function):
        return
    inside = nodes_of(function.body)
    shared = {name for n in inside if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
    counted: set[str] = set()
    for n in inside:
        match n:
            case ast.AugAssign(target=target):
                owner = owner_name(target)
                looks_like_class = owner.lstrip("_")[:1].isupper()
                if last_name(target) in shared or owner == function.name or looks_like_class:
                    counted.add(ast.unparse(target))
            case ast.Call(func=ast.Attribute(value=owner, attr="append" | "add" | "update")):
                if last_name(owner) in _mutable_defaults(function):
                    counted.add(ast.unparse(owner))
    kinds = (ast.Compare, ast.Subscript, *([ast.BinOp] if function.name.startswith("__") else []))
    for n in inside if counted else ():
        if isinstance(n, kinds) and (used := counted & {ast.unparse(p) for p in nodes_in(n)}):
            what = f"`{ast.unparse(n)}` decides by how often it was called ({min(used)})"
            yield at.concern("state-between-runs", what, n)


def _mutable_defaults(function: Function) -> frozenset[str]:
    spec = function.args
    plain = [*spec.posonlyargs, *spec.args]
    pairs = [*zip(reversed(plain), reversed(spec.defaults), strict=False)]
    pairs += [(a, d) for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None]
    return frozenset(arg.arg for arg, default in pairs if isinstance(default, ast.List | ast.Dict | ast.Set))


def find_marker_files(at: SeenNode) -> Iterator[Concern]:
    """Finds a file that a function writes and whose existence decides what it returns."""
    inside = nodes_of(at.node.body) if isinstance(at.node, Function) else []
    branches = [n for n in inside if isinstance(n, ast.If | ast.IfExp)]
    asks = [n for n in branches if {"exists", "is_file", "isfile"} & _called_names(n.test)]
    decides = any(returned_expressions(ask) or isinstance(ask, ast.IfExp) for ask in asks)
    if decides and any(isinstance(n, ast.Call) and _writes(n) for n in inside):
        what = f"`{ast.unparse(asks[0].test)}` decides by a file of an earlier run"
        yield at.concern("state-between-runs", what, asks[0])


def _called_names(node: ast.AST) -> set[str]:
    return {last_name(part.func) for part in nodes_in(node) if isinstance(part, ast.Call)}


def _writes(call: ast.Call) -> bool:
    name = last_name(call.func)
    modes = (arg.value for arg in call.args if isinstance(arg, ast.Constant))
    return name in {"touch", "write_text"} or (
        name == "open" and any(mode in {"w", "a", "x", "wb", "ab", "xb"} for mode in modes)
    )


def module_sequences(tree: ast.Module, names: Names) -> dict[str, str]:
    """The sequences that a module assigns at its top level: name → text."""
    return {
        target.id: text
        for node in tree.body
        if isinstance(node, ast.Assign) and (text := _sequence(node.value, names))
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _sequence(node: ast.expr, names: Names) -> str:
    match node:
        case ast.Call(func=func) if names.text(func) in _SEQUENCES:
            return f"{names.text(func)} {ast.unparse(node)}"
        case ast.List(elts=[_, *_] as parts) if all(map(is_constant, parts)):
            return ast.unparse(node)
    return ""


def find_sequences(at: SeenNode, sequences: Mapping[str, str]) -> Iterator[Concern]:
    """Finds functions that take one value after the other from a sequence of the module."""
    inside = nodes_of(at.node.body) if sequences and isinstance(at.node, Function) else []
    wholes = [
        n.test if isinstance(n, _DECISIONS) else n
        for n in inside
        if isinstance(n, (*_DECISIONS, ast.Compare))
    ]
    for call in inside:
        match call:
            case (
                ast.Call(func=ast.Name(id="next"), args=[ast.Name(id=name), *_])
                | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="pop" | "popleft" | "__next__"))
            ) if name in sequences:
                counts = sequences[name].startswith("itertools.count ")
                if not counts or any(call is part for part in nodes_of(wholes)):
                    yield at.concern(
                        "state-between-runs", f"`{ast.unparse(call)}` answers differently each time", call
                    )
