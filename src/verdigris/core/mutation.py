"""Small changes of what a refactor changed: tests that hold the behaviour notice each of them.

Only what has no counterpart before, up to renamed and moved names, is changed: conditions (made always true,
or always false), the parts of `and` and `or`, boundaries, new literals, and parameters that got a default.
"""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING

from verdigris.core.parsed import parse
from verdigris.core.renaming import matched
from verdigris.core.stubforms import Function, constant, is_docstring, last_name
from verdigris.core.testfile import Assertion, Name
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Scope = tuple[str, frozenset[str]]

_BOUNDARY = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_TELLING = ("log", "warn", "print", "debug", "info", "error", "exception", "critical")
_WIDTH = 50
_HEAD = "parameters"


@value
class Mutant:
    path: str
    line: int
    what: str
    """What it says of the tests if all of them pass with it."""
    data: bytes
    """The file with the change in it."""


@value
class Mutated:
    """`untried`: what would have to be changed and cannot be."""

    mutants: tuple[Mutant, ...] = ()
    untried: tuple[str, ...] = ()


@value
class _Site:
    path: str
    node: ast.expr
    kind: str
    about: Assertion


@value
class _Change:
    node: ast.expr
    now: str


def mutated(before: Mapping[str, str], after: Mapping[str, str]) -> Mutated:
    """Of Python source; texts by path, of the files that differ."""
    after = {path: text.removeprefix("\ufeff") for path, text in after.items()}
    old = {path: tree for path, text in before.items() if (tree := _tree(text)) is not None}
    new = {path: tree for path, text in after.items() if (tree := _tree(text)) is not None}
    mutants: list[Mutant] = []
    untried: list[str] = []
    for path, change in _changes(old, new):
        data = _with(after[path], change)
        line, was = change.node.lineno, _short(ast.unparse(change.node))
        if data is None:
            untried.append(f"{path}:{line}: `{was}`")
        else:
            what = f"`{was}` → `{_short(change.now)}`: no test notices"
            mutants.append(Mutant(path, line, what, data))
    mutants += (mutant for path, tree in new.items() for mutant in _defaults(path, tree, old, after[path]))
    return Mutated(tuple(mutants), tuple(dict.fromkeys(untried)))


def _tree(text: str) -> ast.Module | None:
    try:
        return parse(text)
    except SyntaxError:
        return None


def _changes(old: Mapping[str, ast.Module], new: Mapping[str, ast.Module]) -> Iterator[tuple[str, _Change]]:
    then = [site for path, tree in old.items() for site in _sites(path, tree)]
    now = [site for path, tree in new.items() for site in _sites(path, tree)]
    known = set(matched([site.about for site in then], [site.about for site in now]).values())
    for at, site in enumerate(now):
        if at not in known and site.kind != _HEAD:
            yield from ((site.path, change) for change in _forced(site))
    had = Counter(repr(node.value) for tree in old.values() for node in _literals(tree))
    for path, tree in new.items():
        for node in _literals(tree):
            had[repr(node.value)] -= 1
            if had[repr(node.value)] < 0:
                yield path, _Change(node, repr(_other(node.value)))


def _forced(site: _Site) -> Iterator[_Change]:
    """Each makes one decision of the condition void."""
    match site.node:
        case ast.BoolOp(op=op, values=parts):
            neutral = "True" if isinstance(op, ast.And) else "False"
            word = "or" if neutral == "True" else "and"
            conditional = [part for part in parts if site.kind == "condition" or part is not parts[-1]]
            yield from (_Change(part, f"(({ast.unparse(part)}) {word} {neutral})") for part in conditional)
            if site.kind == "value":
                yield _Change(site.node, f"({ast.unparse(parts[0])})")
        case node:
            text = ast.unparse(node)
            if site.kind != "loop":
                yield _Change(node, f"(({text}) or True)")
            yield _Change(node, f"(({text}) and False)")
    for part in ast.walk(site.node):
        match part:
            case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in _BOUNDARY:
                yield _Change(part, f"{ast.unparse(left)} {_BOUNDARY[type(sign)]} {ast.unparse(right)}")


def _sites(path: str, tree: ast.Module) -> Iterator[_Site]:
    """Everything that decides between two ways, with the names by which it may be recognised."""
    stack: list[tuple[ast.AST, Scope]] = [(node, ("", frozenset())) for node in tree.body]
    while stack:
        node, (scope, local) = stack.pop()
        if isinstance(node, Function):
            scope, local = f"{scope}::{node.name}", local | _locals(node)
            yield _parameters(path, scope, node)
        elif isinstance(node, ast.ClassDef):
            scope = f"{scope}::{node.name}"
        for test, kind in _deciding(node):
            names: list[Name] = []
            shape = f"{kind} {_shape(test, local, names)}"
            about = Assertion(test.lineno, "", f"{path}{scope}", shape, tuple(names))
            yield _Site(path, test, kind, about)
        stack += ((child, (scope, local)) for child in reversed(list(ast.iter_child_nodes(node))))


def _parameters(path: str, scope: str, node: Function) -> _Site:
    """Nothing to change: it ties the names of a function to those that they were before."""
    names = tuple(Name(part.arg, local=True) for part in ast.walk(node.args) if isinstance(part, ast.arg))
    about = Assertion(node.lineno, "", f"{path}{scope}", f"{_HEAD} {len(names)}", names)
    return _Site(path, ast.Constant(None), _HEAD, about)


def _deciding(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    tests = list(_tests(node))
    yield from tests
    asked = [test for test, _ in tests]
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.BoolOp) and not isinstance(node, ast.BoolOp) and child not in asked:
            yield child, "value"


def _tests(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    match node:
        case ast.If(test=test) if not _is_elsewhere(test):
            yield test, "condition"
        case ast.IfExp(test=test) | ast.match_case(guard=ast.expr() as test):
            yield test, "condition"
        case ast.While(test=test) if not isinstance(test, ast.Constant):
            yield test, "loop"
        case ast.comprehension(ifs=tests):
            yield from ((test, "condition") for test in tests)


def _is_elsewhere(test: ast.expr) -> bool:
    """What runs only for a type checker, or where the module is the program."""
    return "__main__" in ast.unparse(test) or last_name(test) == "TYPE_CHECKING"


def _locals(node: Function) -> frozenset[str]:
    found = {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
    stored = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return frozenset(found | {part.id for part in stored if isinstance(part.ctx, ast.Store)})


def _shape(node: ast.AST, local: frozenset[str], names: list[Name]) -> str:
    """Structure, operators and literals; the names go on the list."""
    match node:
        case ast.Name(id=name):
            names.append(Name(name, name in local))
            return "_"
        case ast.Constant(value=value):
            return repr(value)
    inner: list[str] = []
    for _, part in ast.iter_fields(node):
        if isinstance(part, str):
            names.append(Name(part, local=False))
        children = part if isinstance(part, list) else [part]
        inner += [
            _shape(child, local, names)
            for child in children
            if isinstance(child, ast.AST) and not isinstance(child, ast.expr_context)
        ]
    return f"({type(node).__name__} {' '.join(inner)})"


def _literals(tree: ast.Module) -> Iterator[ast.Constant]:
    """Numbers, texts and truth values that code works with: no messages, annotations, parts of f-strings."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | bytes()):
                yield node
            case ast.Raise() | ast.JoinedStr() | ast.Assert() | ast.arguments() | ast.MatchValue():
                continue
            case ast.Expr() if is_docstring(node):
                continue
            case ast.Call(func=func) if last_name(func).lower().startswith(_TELLING):
                continue
            case ast.AnnAssign(value=found):
                stack += [found] if found is not None else []
            case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body):
                stack += reversed(body)
            case ast.Assign(targets=[ast.Name(id=name)]) if name.startswith("__"):
                continue
            case ast.Call(func=func) if last_name(func) in {"TypeVar", "ParamSpec", "NewType", "cast"}:
                continue
            case _:
                stack += reversed(list(ast.iter_child_nodes(node)))


def _other(found: object) -> object:
    match found:
        case bool():
            return not found
        case int() | float():
            return found + 1
        case bytes():
            return found + b"~"
        case _:
            return f"{found}~"


def _defaults(path: str, tree: ast.Module, old: Mapping[str, ast.Module], text: str) -> Iterator[Mutant]:
    """A parameter that never has another value than its default is one that nobody needs yet."""
    nodes = (node for one in old.values() for node in ast.walk(one))
    had = {node.name: _optional(node) for node in nodes if isinstance(node, Function)}
    for node in ast.walk(tree):
        if not isinstance(node, Function):
            continue
        before, now = had.get(node.name, {}), _optional(node)
        fresh = [name for name in now if name not in before]
        for name in fresh[-(len(now) - len(before)) :] if len(now) > len(before) else ():
            told = ast.unparse(now[name])
            data = _with_statement(text, node, f"{name} = {told}")
            what = f"the parameter `{name}` of `{node.name}` is new, and no test needs more than `{told}`"
            yield Mutant(path, node.lineno, what, data)


def _optional(node: Function) -> dict[str, ast.expr]:
    """The parameters whose default is a constant."""
    spec = node.args
    places = [*spec.posonlyargs, *spec.args]
    found = dict(zip((p.arg for p in places[len(places) - len(spec.defaults) :]), spec.defaults, strict=True))
    found |= {p.arg: d for p, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None}
    return {name: default for name, default in found.items() if constant(default, mutable=False)}


def _with(text: str, change: _Change) -> bytes | None:
    """None where the tree's places are not those of the text, as inside f-strings of older Pythons."""
    lines = _lines(text)
    node = change.node
    start = _offset(lines, node.lineno, node.col_offset)
    end = _offset(lines, node.end_lineno or node.lineno, node.end_col_offset or 0)
    data = b"".join(lines)
    made = data[:start] + change.now.encode("utf-8", "surrogateescape") + data[end:]
    try:
        was = ast.parse(b"(" + data[start:end] + b"\n)", mode="eval").body
        parse(made.decode("utf-8", "surrogateescape"))
    except (SyntaxError, ValueError):
        return None
    return made if ast.dump(was) == ast.dump(node) else None


def _with_statement(text: str, node: Function, statement: str) -> bytes:
    lines = _lines(text)
    first = next((one for one in node.body if not is_docstring(one)), node.body[-1])
    decorated = first.decorator_list if isinstance(first, Function | ast.ClassDef) else []
    line = min([first.lineno, *(one.lineno for one in decorated)])
    start = _offset(lines, line, first.col_offset)
    apart = "; " if line == node.lineno else "\n" + " " * first.col_offset
    data = b"".join(lines)
    return data[:start] + f"{statement}{apart}".encode() + data[start:]


def _lines(text: str) -> list[bytes]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [f"{line}\n".encode("utf-8", "surrogateescape") for line in lines]


def _offset(lines: list[bytes], line: int, column: int) -> int:
    return sum(map(len, lines[: line - 1])) + column


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
