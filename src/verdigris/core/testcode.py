"""Where the assertions of a test stand: its own, and those of the helpers that it calls."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING

from verdigris.core.stubforms import Function, last_name
from verdigris.core.testfile import read
from verdigris.core.textedit import Source
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_EXPECTING = frozenset({"raises", "warns", "deprecated_call", "fail"})
_CATCHING = frozenset({"suppress", "raises", "assertRaises"})
_BROAD = frozenset({"Exception", "BaseException", "AssertionError"})


class Code:
    """One test file; SyntaxError when it is no Python."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.source = Source(text)
        self.functions: dict[str, Function] = {}
        self.bases: dict[str, tuple[str, ...]] = {}
        self.imports: dict[str, tuple[str, str]] = {}
        """Module and name in it by name here; no name for a whole module."""
        self.constants: dict[str, ast.expr] = {}
        self._read(self.source.tree.body, "")
        loaded = (n for n in ast.walk(self.source.tree) if isinstance(n, ast.Name))
        self.loads = Counter(name.id for name in loaded if isinstance(name.ctx, ast.Load))
        self._asserted = [(found.scope, found.line) for found in read(text).assertions]

    def _read(self, body: Iterable[ast.AST], prefix: str) -> None:
        for node in body:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self.functions[prefix + node.name] = node
                case ast.ClassDef():
                    self.bases[prefix + node.name] = tuple(filter(None, map(last_name, node.bases)))
                    self._read(node.body, f"{prefix}{node.name}::")
                case ast.ImportFrom():
                    self.imports |= {a.asname or a.name: (node.module or "", a.name) for a in node.names}
                case ast.Import():
                    self.imports |= {a.asname or a.name: (a.name, "") for a in node.names}
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if not prefix:
                    self.constants[name] = value
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if not prefix:
                    self.constants[name] = value
                case ast.stmt():
                    self._read(ast.iter_child_nodes(node), prefix)

    def find(self, function: str, seen: frozenset[str] = frozenset()) -> str | None:
        """The qualified name under which it is defined: here, or in a base class of this file."""
        owner, _, name = function.rpartition("::")
        if function in self.functions:
            return function
        if not owner or owner in seen:
            return None
        found = (self.find(f"{base}::{name}", seen | {owner}) for base in self.bases.get(owner, ()))
        return next(filter(None, found), None)

    def asserted(self, function: str) -> frozenset[int]:
        """The lines of its assertions, those of functions within it too."""
        inner = f"{function}::"
        return frozenset(line for scope, line in self._asserted if f"{scope}::".startswith(inner))


@value
class Standing:
    code: Code
    function: Function
    node: ast.stmt
    guarded: bool
    """Whether the test may rightly pass without it: in a branch, a loop, behind a handler."""


class Tests:
    """All test files that a run loads, parsed when they are asked for."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._codes: dict[str, Code | None] = {}

    def code(self, path: str) -> Code | None:
        if path not in self._codes:
            try:
                self._codes[path] = Code(path, self._texts[path]) if path in self._texts else None
            except SyntaxError:
                self._codes[path] = None
        return self._codes[path]

    def assertions(
        self, code: Code, function: str, *, guarded: bool = False, seen: frozenset[object] = frozenset()
    ) -> Iterator[Standing]:
        name = code.find(function)
        if name is None or (code.path, name) in seen:
            return
        seen |= {(code.path, name)}
        node, lines, owner = code.functions[name], code.asserted(name), function.rpartition("::")[0]
        for stmt, under in _statements(node.body, guarded):
            helpers = []
            for call, direct in _calls(stmt):
                helper = self._helper(code, owner, call)
                if helper is not None:
                    found = [*self.assertions(*helper, guarded=under or not direct, seen=seen)]
                    yield from found
                    helpers += [call] if found else []
            if stmt.lineno in lines and _asserts(stmt) and not _is_call_of(stmt, helpers):
                yield Standing(code, node, stmt, under)

    def _helper(self, code: Code, owner: str, call: ast.Call) -> tuple[Code, str] | None:
        match call.func:
            case ast.Name(id=name) if name in code.functions:
                return code, name
            case ast.Name(id=name) if name in code.imports:
                return self._imported(code, *code.imports[name])
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name) if owner:
                return code, f"{owner}::{name}"
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in code.imports:
                parent, child = code.imports[module]
                return self._imported(code, f"{parent}.{child}".strip("."), name)
            case _:
                return None

    def _imported(self, code: Code, module: str, name: str) -> tuple[Code, str] | None:
        """From the only test file that the module's name can mean, one beside the importing file first."""
        tail = module.replace(".", "/") + ".py"
        beside = code.path.rpartition("/")[0]
        meant = [path for path in self._texts if f"/{path}".endswith(f"/{tail}")]
        near = [path for path in meant if path.rpartition("/")[0] == beside]
        paths = near if len(near) == 1 else meant
        found = self.code(paths[0]) if len(paths) == 1 else None
        return None if found is None else (found, name)


def _statements(body: Iterable[ast.stmt], guarded: bool) -> Iterator[tuple[ast.stmt, bool]]:
    for node in body:
        yield node, guarded
        yield from _inner(node, guarded)
        if isinstance(node, _LEAVES):
            return
        guarded = guarded or (_is_block(node) and leaves(node))


def _inner(node: ast.stmt, guarded: bool) -> Iterator[tuple[ast.stmt, bool]]:
    match node:
        case ast.With(body=body, items=items) | ast.AsyncWith(body=body, items=items):
            yield from _statements(body, guarded or any(_swallows(item.context_expr) for item in items))
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
            yield from _statements(body, guarded or bool(handlers))
            for block in (*(handler.body for handler in handlers), orelse):
                yield from _statements(block, guarded=True)
            yield from _statements(finalbody, guarded)
        case ast.Match(cases=cases):
            for case in cases:
                yield from _statements(case.body, guarded=True)
        case _:
            for part in ("body", "orelse"):
                yield from _statements(getattr(node, part, []), guarded=True)


def leaves(node: ast.stmt) -> bool:
    return any(isinstance(inner, _LEAVES) for inner in ast.walk(node))


def _is_block(node: ast.stmt) -> bool:
    return hasattr(node, "body") and not isinstance(node, Function | ast.ClassDef)


def _swallows(context: ast.expr) -> bool:
    """Whether a failed assertion in this block need not come out of it."""
    if not isinstance(context, ast.Call) or last_name(context.func) not in _CATCHING:
        return False
    parts = (part for arg in context.args for part in ast.walk(arg))
    return any(isinstance(part, ast.Name | ast.Attribute) and last_name(part) in _BROAD for part in parts)


def _asserts(stmt: ast.stmt) -> bool:
    """Which of the statements on a line is its assertion."""
    match stmt:
        case ast.Assert():
            return True
        case ast.Expr(value=value):
            calls = [node for node in ast.walk(value) if isinstance(node, ast.Call)]
        case ast.With(items=items) | ast.AsyncWith(items=items):
            calls = [item.context_expr for item in items if isinstance(item.context_expr, ast.Call)]
        case _:
            return False
    names = [last_name(call.func).lower() for call in calls]
    return any(name.startswith("assert") or name in _EXPECTING for name in names)


def _calls(stmt: ast.stmt) -> Iterator[tuple[ast.Call, bool]]:
    """The calls of a statement without those of its blocks; and whether each is made whenever it runs."""
    direct = getattr(stmt, "value", None)
    direct = direct.value if isinstance(direct, ast.Await) else direct
    own = (child for child in ast.iter_child_nodes(stmt) if isinstance(child, ast.expr | ast.withitem))
    if isinstance(stmt, Function | ast.ClassDef):
        return
    for child in own:
        for node in ast.walk(child):
            if isinstance(node, ast.Call):
                yield node, node is direct


def _is_call_of(stmt: ast.stmt, helpers: list[ast.Call]) -> bool:
    """A call of a helper whose assertions we found is not an assertion besides them."""
    value = getattr(stmt, "value", None)
    return any(value is call or getattr(value, "value", None) is call for call in helpers)
