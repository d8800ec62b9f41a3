"""Finds source whose answers depend on earlier calls, the clock, or chance."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.languages.python.concerns.answers import Hit, returned_expressions, within
from verdigris.languages.python.stubs.forms import Function, constant, last_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.languages.python.concerns.names import SeenNode, SourceNames

_SEQUENCES = frozenset({"builtins.iter", "itertools.count", "itertools.cycle", "itertools.chain"})
_CLOCKS = frozenset(
    {
        *("datetime.date.today", "datetime.datetime.today", "datetime.datetime.now"),
        *("datetime.datetime.utcnow", "time.time", "time.time_ns"),
    }
)
_LATE = 1e9
"""Seconds that are a date rather than a span."""
_DECIDES = (ast.Compare, ast.Subscript)
_EXISTS = frozenset({"exists", "is_file", "isfile"})


def state_between_runs(seen: SeenNode) -> Iterator[Hit]:
    node, names = seen.node, seen.names
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from _counters(node)
            yield from _marks(node)
        case ast.Compare(left=left, comparators=[right]) if _is_now(left, names) != _is_now(right, names):
            if _is_date(left, names) or _is_date(right, names):
                yield Hit("state-between-runs", node, f"`{ast.unparse(node)}` depends on today's date")
        case ast.If(test=test) | ast.IfExp(test=test):
            for part in ast.walk(test):
                dotted = names.dotted(part) if isinstance(part, ast.Attribute | ast.Name) else ""
                if dotted.startswith(("random.", "secrets.", "uuid.uuid")) or dotted in {
                    "time.time",
                    "os.getpid",
                }:
                    yield Hit("state-between-runs", part, f"`{ast.unparse(test)}` differs from run to run")


def _is_now(node: ast.expr, names: SourceNames) -> bool:
    return any(names.dotted(part.func) in _CLOCKS for part in ast.walk(node) if isinstance(part, ast.Call))


def _is_date(node: ast.expr, names: SourceNames) -> bool:
    """One certain moment, written down."""
    match node:
        case ast.Call(func=func, args=args):
            made = names.dotted(func).startswith(("datetime.", "time.mktime"))
            return made and bool(args) and all(map(constant, args))
        case ast.Constant(value=int() | float() as seconds):
            return seconds > _LATE
        case _:
            return False


def _counters(function: Function) -> Iterator[Hit]:
    """What a function changes beyond its own variables, and then decides by."""
    inside = list(within(function.body))
    shared = {name for n in inside if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
    counted = {
        ast.unparse(n.target)
        for n in inside
        if isinstance(n, ast.AugAssign)
        and (last_name(n.target) in shared or _owner(n.target) == function.name or _is_class(n.target))
    }
    defaults = _mutable_defaults(function)
    counted |= {
        ast.unparse(n.func.value)
        for n in inside
        if isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and n.func.attr in {"append", "add", "update"}
        and last_name(n.func.value) in defaults
    }
    decides = (*_DECIDES, ast.BinOp) if function.name.startswith("__") else _DECIDES
    for n in inside:
        if isinstance(n, decides) and (used := counted & {ast.unparse(p) for p in ast.walk(n)}):
            yield Hit(
                "state-between-runs",
                n,
                f"`{ast.unparse(n)}` decides by how often it was called ({min(used)})",
            )


def _is_class(node: ast.expr) -> bool:
    """What looks like an attribute of a class, by the way such names are written."""
    return _owner(node).lstrip("_")[:1].isupper()


def _owner(node: ast.expr) -> str:
    return last_name(node.value) if isinstance(node, ast.Attribute) else ""


def _mutable_defaults(function: Function) -> frozenset[str]:
    spec = function.args
    plain = [*spec.posonlyargs, *spec.args]
    pairs = [*zip(plain[len(plain) - len(spec.defaults) :], spec.defaults, strict=True)]
    pairs += [(a, d) for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None]
    return frozenset(arg.arg for arg, default in pairs if isinstance(default, ast.List | ast.Dict | ast.Set))


def _marks(function: Function) -> Iterator[Hit]:
    """A file that is made where it is asked for, and decides what is returned."""
    inside = list(within(function.body))
    calls = [n for n in inside if isinstance(n, ast.Call)]
    asks = [n for n in inside if isinstance(n, ast.If | ast.IfExp) and _mentions(n.test, _EXISTS)]
    writes = [c for c in calls if last_name(c.func) in {"touch", "write_text"} or _opens_to_write(c)]
    if asks and writes and any(returned_expressions(ask) or isinstance(ask, ast.IfExp) for ask in asks):
        yield Hit(
            "state-between-runs",
            asks[0],
            f"`{ast.unparse(asks[0].test)}` decides by a file of an earlier run",
        )


def _mentions(node: ast.AST, names: frozenset[str]) -> bool:
    return any(isinstance(n, ast.Call) and last_name(n.func) in names for n in ast.walk(node))


def _opens_to_write(call: ast.Call) -> bool:
    return last_name(call.func) == "open" and any(
        isinstance(arg, ast.Constant) and arg.value in {"w", "a", "x", "wb", "ab", "xb"} for arg in call.args
    )


def sequences(tree: ast.Module, names: SourceNames) -> Iterator[Hit]:
    """Answers lined up in a module and taken one by one by its functions."""
    lined = {
        target.id: node
        for node in tree.body
        if isinstance(node, ast.Assign) and _is_sequence(node.value, names)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for function in (node for node in ast.walk(tree) if isinstance(node, Function)):
        for call in (node for node in within(function.body) if isinstance(node, ast.Call)):
            taken = _name_taken_from(call)
            if taken in lined and not _is_counter_id(function, call, lined[taken], names):
                yield Hit("state-between-runs", call, f"`{ast.unparse(call)}` answers differently each time")


def _is_sequence(node: ast.expr, names: SourceNames) -> bool:
    match node:
        case ast.Call(func=func):
            return names.dotted(func) in _SEQUENCES
        case ast.List(elts=parts):
            return bool(parts) and all(map(constant, parts))
        case _:
            return False


def _name_taken_from(call: ast.Call) -> str:
    match call:
        case ast.Call(func=ast.Name(id="next"), args=[ast.Name(id=name), *_]):
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="pop" | "popleft" | "__next__")):
            return name
        case _:
            return ""


def _is_counter_id(function: Function, call: ast.Call, made: ast.Assign, names: SourceNames) -> bool:
    """`next(count())` gives out numbers; only where it decides a branch is it more than that."""
    counts = isinstance(made.value, ast.Call) and names.dotted(made.value.func) == "itertools.count"
    tests = [n.test for n in within(function.body) if isinstance(n, ast.If | ast.IfExp | ast.While)]
    compares = [n for n in within(function.body) if isinstance(n, ast.Compare)]
    return counts and not any(call is part for whole in (*tests, *compares) for part in ast.walk(whole))
