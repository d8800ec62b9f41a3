"""Source whose answers may be empty: it agrees with everything, ends the process, or changes between runs."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.core.concerns_hit import Hit
from verdigris.core.stubforms import Function, constant, last_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verdigris.core.concerns_names import Names, Seen

_COMPARISONS = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__"})
_MOCKS = frozenset({"ANY", "Mock", "MagicMock", "AsyncMock", "NonCallableMock", "sentinel"})
_ENDS = frozenset({"os._exit", "os.abort", "signal.raise_signal", "atexit.register", "atexit._run_exitfuncs"})
_LEAVES = frozenset({"sys.exit", "builtins.exit", "builtins.quit", "builtins.SystemExit"})
_SEQUENCES = frozenset({"builtins.iter", "itertools.count", "itertools.cycle", "itertools.chain"})
_EXISTS = frozenset({"exists", "is_file", "isfile"})


def answers_everything(seen: Seen) -> Iterator[Hit]:
    node = seen.node
    match node:
        case ast.ClassDef(body=body):
            for part in body:
                yield from _method(part)
        case ast.Return(value=ast.expr() as value):
            target = value.func if isinstance(value, ast.Call) else value
            dotted = seen.names.dotted(target)
            if dotted.startswith("unittest.mock.") and dotted.rpartition(".")[2] in _MOCKS:
                yield Hit("answers-everything", node, f"`{ast.unparse(node)}` returns a mock")


def _method(part: ast.stmt) -> Iterator[Hit]:
    match part:
        case ast.FunctionDef(name=name, args=ast.arguments(args=[me, other])) if name in _COMPARISONS:
            if _agrees(part, me.arg, other.arg):
                yield Hit("answers-everything", part, f"`{name}` does not compare the two")
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda(body=body)) if name in _COMPARISONS:
            if _is_true(body):
                yield Hit("answers-everything", part, f"`{name}` does not compare the two")
        case ast.FunctionDef(name="__getattr__", args=ast.arguments(args=[me, _])):
            if [last_name(value) for value in _returned(part)] == [me.arg]:
                yield Hit("answers-everything", part, "`__getattr__` has every attribute")


def _agrees(method: ast.FunctionDef, me: str, other: str) -> bool:
    returned = _returned(method)
    used = {node.id for value in returned for node in ast.walk(value) if isinstance(node, ast.Name)}
    mentioned = {node.id for part in method.body for node in ast.walk(part) if isinstance(node, ast.Name)}
    denies = any(_is_false(value) or last_name(value) == "NotImplemented" for value in returned)
    if not returned or denies:
        return False
    if all(map(_is_true, returned)):
        return True
    return other not in mentioned or (me not in mentioned and not {"isinstance", "type"} & used)


def _returned(function: ast.AST) -> list[ast.expr]:
    return [n.value for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None]


def _is_true(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Compare(left=ast.Constant(), comparators=[ast.Constant()]):
            return True
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _is_false(operand)
        case _:
            return False


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


def exits(seen: Seen) -> Iterator[Hit]:
    node, names = seen.node, seen.names
    match node:
        case ast.Call(func=func, args=args):
            called = names.dotted(func)
            itself = called == "os.kill" and args and _calls(args[0], "os.getpid", names)
            if called in _ENDS or called.startswith("os.exec") or itself:
                yield Hit("exits", node, f"`{ast.unparse(node)}` ends the process")
            elif called == "sys.exit" and seen.function is None and not seen.main:
                yield Hit("exits", node, f"`{ast.unparse(node)}` ends the process on import")
        case ast.Raise(exc=ast.expr() as raised) if seen.function is None and not seen.main:
            target = raised.func if isinstance(raised, ast.Call) else raised
            if names.dotted(target) in _LEAVES:
                yield Hit("exits", node, f"`{ast.unparse(node)}` ends the process on import")


def _calls(node: ast.expr, function: str, names: Names) -> bool:
    return isinstance(node, ast.Call) and names.dotted(node.func) == function


def swallow(seen: Seen) -> Iterator[Hit]:
    match seen.node:
        case ast.ExceptHandler(type=kind, body=body):
            caught = "everything" if kind is None else last_name(kind)
            if caught == "AssertionError" and not any(isinstance(n, ast.Raise) for n in _within(body)):
                yield Hit("swallow", seen.node, "source catches AssertionError")
            elif caught in {"everything", "Exception", "BaseException"} and _is_plain_return(body):
                yield Hit("swallow", seen.node, f"whatever fails, it answers `{ast.unparse(body[0])}`")


def _is_plain_return(body: Sequence[ast.stmt]) -> bool:
    match body:
        case [ast.Return(value=value)]:
            return value is None or constant(value)
        case _:
            return False


def obscured(seen: Seen) -> Iterator[Hit]:
    match seen.node:
        case ast.Call(func=func) if seen.names.dotted(func) in {
            "builtins.exec",
            "builtins.eval",
            "marshal.loads",
        }:
            yield Hit("obscured", seen.node, f"`{ast.unparse(seen.node)}` runs what cannot be read here")


def state_between_runs(seen: Seen) -> Iterator[Hit]:
    node, names = seen.node, seen.names
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from _counters(node)
            yield from _marks(node)
        case ast.If(test=test) | ast.IfExp(test=test):
            for part in ast.walk(test):
                dotted = names.dotted(part) if isinstance(part, ast.Attribute | ast.Name) else ""
                if dotted.startswith(("random.", "secrets.", "uuid.uuid")) or dotted in {
                    "time.time",
                    "os.getpid",
                }:
                    yield Hit("state-between-runs", part, f"`{ast.unparse(test)}` differs from run to run")


def _counters(function: Function) -> Iterator[Hit]:
    """What a function changes beyond its own variables, and then decides by."""
    inside = list(_within(function.body))
    shared = {name for n in inside if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
    counted = {
        ast.unparse(n.target)
        for n in inside
        if isinstance(n, ast.AugAssign)
        and (last_name(n.target) in shared or _owner(n.target) == function.name)
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
    for n in inside:
        if isinstance(n, ast.Compare) and (used := counted & {ast.unparse(p) for p in ast.walk(n)}):
            yield Hit(
                "state-between-runs",
                n,
                f"`{ast.unparse(n)}` decides by how often it was called ({min(used)})",
            )


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
    inside = list(_within(function.body))
    calls = [n for n in inside if isinstance(n, ast.Call)]
    asks = [n for n in inside if isinstance(n, ast.If) and _mentions(n.test, _EXISTS)]
    writes = [c for c in calls if last_name(c.func) in {"touch", "write_text"} or _opens_to_write(c)]
    if asks and writes and any(_returned(ask) for ask in asks):
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


def _within(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    for part in body:
        yield from ast.walk(part)


def sequences(tree: ast.Module, names: Names) -> Iterator[Hit]:
    """Answers lined up in a module and taken one by one by its functions."""
    lined = {
        target.id: node
        for node in tree.body
        if isinstance(node, ast.Assign) and _is_sequence(node.value, names)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for function in (node for node in ast.walk(tree) if isinstance(node, Function)):
        for call in (node for node in _within(function.body) if isinstance(node, ast.Call)):
            taken = _taken(call)
            if taken in lined and not _is_counter_id(function, call, lined[taken], names):
                yield Hit("state-between-runs", call, f"`{ast.unparse(call)}` answers differently each time")


def _is_sequence(node: ast.expr, names: Names) -> bool:
    match node:
        case ast.Call(func=func):
            return names.dotted(func) in _SEQUENCES
        case ast.List(elts=parts):
            return bool(parts) and all(map(constant, parts))
        case _:
            return False


def _taken(call: ast.Call) -> str:
    match call:
        case ast.Call(func=ast.Name(id="next"), args=[ast.Name(id=name), *_]):
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="pop" | "popleft" | "__next__")):
            return name
        case _:
            return ""


def _is_counter_id(function: Function, call: ast.Call, made: ast.Assign, names: Names) -> bool:
    """`next(count())` gives out numbers; only where it decides a branch is it more than that."""
    counts = isinstance(made.value, ast.Call) and names.dotted(made.value.func) == "itertools.count"
    tests = [n.test for n in _within(function.body) if isinstance(n, ast.If | ast.IfExp | ast.While)]
    compares = [n for n in _within(function.body) if isinstance(n, ast.Compare)]
    return counts and not any(call is part for whole in (*tests, *compares) for part in ast.walk(whole))
