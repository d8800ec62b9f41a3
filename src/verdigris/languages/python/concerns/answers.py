"""Finds source that returns an answer to please any test, or one that depends on state, time or chance."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.python.concerns.names import returned_expressions
from verdigris.languages.python.stubs.forms import Function, is_constant, last_name, owner_name
from verdigris.languages.python.syntax import nodes_in, parse_or_none

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from verdigris.languages.python.concerns.names import SeenNode, SourceNames


_COMPARISONS = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__"})
_MOCKS = frozenset({"ANY", "Mock", "MagicMock", "AsyncMock", "NonCallableMock", "sentinel"})
_ENDS = frozenset({"os._exit", "os.abort", "signal.raise_signal", "atexit.register", "atexit._run_exitfuncs"})
_LEAVES = frozenset({"sys.exit", "builtins.exit", "builtins.quit", "builtins.SystemExit"})
_RUNS = frozenset({"builtins.exec", "builtins.eval"})
_SEQUENCES = frozenset({"builtins.iter", "itertools.count", "itertools.cycle", "itertools.chain"})
_CLOCKS = frozenset(
    {
        *("datetime.date.today", "datetime.datetime.today", "datetime.datetime.now"),
        *("datetime.datetime.utcnow", "time.time", "time.time_ns"),
    }
)
_LATE = 1e9
"""More seconds than this are a date, not a duration."""
_DECIDES = (ast.Compare, ast.Subscript)
_EXISTS = frozenset({"exists", "is_file", "isfile"})


def find_answers_to_all(seen: SeenNode) -> Iterator[Hit]:
    node = seen.node
    match node:
        case ast.ClassDef(body=body):
            for part in body:
                yield from _find_in_method(part)
        case ast.Return(value=ast.expr() as value):
            target = value.func if isinstance(value, ast.Call) else value
            dotted = seen.names.dotted_name(target)
            if dotted.startswith("unittest.mock.") and dotted.rpartition(".")[2] in _MOCKS:
                yield Hit("answers-everything", node, f"`{ast.unparse(node)}` returns a mock")


def _find_in_method(part: ast.stmt) -> Iterator[Hit]:
    match part:
        case ast.FunctionDef(name=name, args=ast.arguments(args=[me, other])) if name in _COMPARISONS:
            if _agrees_always(part, me.arg, other.arg):
                yield Hit("answers-everything", part, f"`{name}` does not compare the two")
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda(body=body)) if name in _COMPARISONS:
            if _is_true(body):
                yield Hit("answers-everything", part, f"`{name}` does not compare the two")
        case ast.FunctionDef(name="__getattr__", args=ast.arguments(args=[me, _])):
            if [last_name(value) for value in returned_expressions(part)] == [me.arg]:
                yield Hit("answers-everything", part, "`__getattr__` answers every attribute")


def _agrees_always(method: ast.FunctionDef, me: str, other: str) -> bool:
    answers = returned_expressions(method)
    used = {node.id for value in answers for node in nodes_in(value) if isinstance(node, ast.Name)}
    mentioned = {node.id for part in method.body for node in nodes_in(part) if isinstance(node, ast.Name)}
    denies = any(_is_false(value) or last_name(value) == "NotImplemented" for value in answers)
    if not answers or denies:
        return False
    if all(map(_is_true, answers)):
        return True
    return other not in mentioned or (me not in mentioned and not {"isinstance", "type"} & used)


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


def find_exits(seen: SeenNode) -> Iterator[Hit]:
    node, names = seen.node, seen.names
    match node:
        case ast.Call(func=func, args=args):
            called = names.dotted_name(func)
            itself = called == "os.kill" and args and _calls(args[0], "os.getpid", names)
            if called in _ENDS or called.startswith("os.exec") or itself:
                yield Hit("exits", node, f"`{ast.unparse(node)}` ends the process")
            elif called == "sys.exit" and seen.function is None and not seen.main:
                yield Hit("exits", node, f"`{ast.unparse(node)}` ends the process on import")
        case ast.Raise(exc=ast.expr() as raised) if seen.function is None and not seen.main:
            target = raised.func if isinstance(raised, ast.Call) else raised
            if names.dotted_name(target) in _LEAVES:
                yield Hit("exits", node, f"`{ast.unparse(node)}` ends the process on import")


def _calls(node: ast.expr, function: str, names: SourceNames) -> bool:
    return isinstance(node, ast.Call) and names.dotted_name(node.func) == function


def find_swallowed(seen: SeenNode) -> Iterator[Hit]:
    match seen.node:
        case ast.ExceptHandler(type=kind, body=body):
            caught = "everything" if kind is None else last_name(kind)
            if caught == "AssertionError" and not any(isinstance(n, ast.Raise) for n in nodes_of_block(body)):
                yield Hit("swallow", seen.node, "source catches AssertionError")
            elif caught in {"everything", "Exception", "BaseException"} and _is_plain_return(body):
                yield Hit("swallow", seen.node, f"it does `{ast.unparse(body[0])}` whatever fails")


def _is_plain_return(body: Sequence[ast.stmt]) -> bool:
    match body:
        case [ast.Return(value=value)]:
            return value is None or is_constant(value)
        case _:
            return False


def program_in_text(seen: SeenNode) -> ast.Module | None:
    """The program in a constant text that is passed to `exec` or its like."""
    match seen.node:
        case ast.Call(func=func, args=[text, *_]) if seen.names.dotted_name(func) in _RUNS | {
            "builtins.compile"
        }:
            return parse_or_none(seen.names.text(text) or "")
        case _:
            return None


def find_obscured(seen: SeenNode) -> Iterator[Hit]:
    match seen.node:
        case ast.Call(func=func) if seen.names.dotted_name(func) in _RUNS | {"marshal.loads"}:
            yield Hit("obscured", seen.node, f"`{ast.unparse(seen.node)}` runs what cannot be read here")


def nodes_of_block(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    for part in body:
        yield from nodes_in(part)


_LONG = 100


@value
class Hit:
    kind: str
    node: ast.AST
    what: str
    blocks: bool = False
    literal: str = ""
    """The literal in source that the tests expect, or pass to the code."""
    constant: bool = False
    """True if it is returned without an input of the tests beside it, as in an honest first step."""
    option: bool = False
    """True if it only chooses how the other inputs are handled, as in `mode == "end"`."""


def quote_statement(statement: ast.stmt, node: ast.AST) -> str:
    """Quotes the statement if it is short, else the node."""
    whole = ast.unparse(statement)
    text = whole if "\n" not in whole and len(whole) <= _LONG else ast.unparse(node)
    return f"`{text}`"


def find_state_between_runs(seen: SeenNode) -> Iterator[Hit]:
    node, names = seen.node, seen.names
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from _find_counters(node)
            yield from _find_marker_files(node)
        case ast.Compare(left=left, comparators=[right]) if _is_now(left, names) != _is_now(right, names):
            if _is_date(left, names) or _is_date(right, names):
                yield Hit("state-between-runs", node, f"`{ast.unparse(node)}` depends on today's date")
        case ast.If(test=test) | ast.IfExp(test=test):
            for part in nodes_in(test):
                dotted = names.dotted_name(part) if isinstance(part, ast.Attribute | ast.Name) else ""
                if dotted.startswith(("random.", "secrets.", "uuid.uuid")) or dotted in {
                    "time.time",
                    "os.getpid",
                }:
                    yield Hit("state-between-runs", part, f"`{ast.unparse(test)}` differs from run to run")


def _is_now(node: ast.expr, names: SourceNames) -> bool:
    return any(
        names.dotted_name(part.func) in _CLOCKS for part in nodes_in(node) if isinstance(part, ast.Call)
    )


def _is_date(node: ast.expr, names: SourceNames) -> bool:
    """Whether the node is one fixed moment, written as a constant."""
    match node:
        case ast.Call(func=func, args=args):
            made = names.dotted_name(func).startswith(("datetime.", "time.mktime"))
            return made and bool(args) and all(map(is_constant, args))
        case ast.Constant(value=int() | float() as seconds):
            return seconds > _LATE
        case _:
            return False


def _find_counters(function: Function) -> Iterator[Hit]:
    """Finds a decision that depends on a value outside of the function which the function itself changes."""
    inside = list(nodes_of_block(function.body))
    shared = {name for n in inside if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
    counted = {
        ast.unparse(n.target)
        for n in inside
        if isinstance(n, ast.AugAssign)
        and (last_name(n.target) in shared or owner_name(n.target) == function.name or _is_class(n.target))
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
        if isinstance(n, decides) and (used := counted & {ast.unparse(p) for p in nodes_in(n)}):
            yield Hit(
                "state-between-runs",
                n,
                f"`{ast.unparse(n)}` decides by how often it was called ({min(used)})",
            )


def _is_class(node: ast.expr) -> bool:
    """Whether the node looks like an attribute of a class: the owner's name has a capital letter."""
    return owner_name(node).lstrip("_")[:1].isupper()


def _mutable_defaults(function: Function) -> frozenset[str]:
    spec = function.args
    plain = [*spec.posonlyargs, *spec.args]
    pairs = [*zip(plain[len(plain) - len(spec.defaults) :], spec.defaults, strict=True)]
    pairs += [(a, d) for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None]
    return frozenset(arg.arg for arg, default in pairs if isinstance(default, ast.List | ast.Dict | ast.Set))


def _find_marker_files(function: Function) -> Iterator[Hit]:
    """Finds a file that a function writes and whose existence decides what it returns."""
    inside = list(nodes_of_block(function.body))
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
    return any(isinstance(n, ast.Call) and last_name(n.func) in names for n in nodes_in(node))


def _opens_to_write(call: ast.Call) -> bool:
    return last_name(call.func) == "open" and any(
        isinstance(arg, ast.Constant) and arg.value in {"w", "a", "x", "wb", "ab", "xb"} for arg in call.args
    )


def module_sequences(tree: ast.Module, names: SourceNames) -> dict[str, ast.Assign]:
    """The sequences that a module assigns at its top level, by name."""
    return {
        target.id: node
        for node in tree.body
        if isinstance(node, ast.Assign) and _is_sequence(node.value, names)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def find_sequences(
    tree: ast.Module, names: SourceNames, untouched: Collection[ast.stmt] = ()
) -> Iterator[Hit]:
    """Finds functions that take one value after the other from a sequence of the module."""
    lined = module_sequences(tree, names)
    touched = [node for node in tree.body if node not in untouched] if lined else []
    for function in (node for node in nodes_of_block(touched) if isinstance(node, Function)):
        for call in (node for node in nodes_of_block(function.body) if isinstance(node, ast.Call)):
            taken = _name_taken_from(call)
            if taken in lined and not _is_counter_id(function, call, lined[taken], names):
                yield Hit("state-between-runs", call, f"`{ast.unparse(call)}` answers differently each time")


def _is_sequence(node: ast.expr, names: SourceNames) -> bool:
    match node:
        case ast.Call(func=func):
            return names.dotted_name(func) in _SEQUENCES
        case ast.List(elts=parts):
            return bool(parts) and all(map(is_constant, parts))
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
    """Whether a call of `next` on `itertools.count` only makes a number, and decides no branch."""
    counts = isinstance(made.value, ast.Call) and names.dotted_name(made.value.func) == "itertools.count"
    tests = [n.test for n in nodes_of_block(function.body) if isinstance(n, ast.If | ast.IfExp | ast.While)]
    compares = [n for n in nodes_of_block(function.body) if isinstance(n, ast.Compare)]
    return counts and not any(call is part for whole in (*tests, *compares) for part in nodes_in(whole))
