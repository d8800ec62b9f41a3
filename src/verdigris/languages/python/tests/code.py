"""Resolves the code of a test file: definitions, helpers, inherited tests, and their assertions."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.python.modules import files_of_module
from verdigris.languages.python.stubs.forms import Function, last_name
from verdigris.languages.python.syntax import nodes_in, parse, shared_tree
from verdigris.languages.python.tests import read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class Code:
    """One test file. Raises SyntaxError if it does not parse. It does not change after it is read."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.tree = shared_tree(text) or parse(text)
        self.functions: dict[str, Function] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.bases: dict[str, tuple[str, ...]] = {}
        """By class: the dotted names of its bases."""
        self.stars: list[str] = []
        """Modules from which the file imports `*`."""
        self.made: list[tuple[re.Pattern[str], str]] = []
        """Patterns of names that hold a function which another function made, and that inner function."""
        self.imports: dict[str, tuple[str, str]] = {}
        """By local name: the module and the name in it; the second is empty for a whole module."""
        self.constants: dict[str, ast.expr] = {}
        self.values: dict[str, list[ast.expr]] = {}
        """By constant: the values that the branches of the file assign to it, in order."""
        self._read(self.tree.body, "")
        loaded = (n for n in nodes_in(self.tree) if isinstance(n, ast.Name))
        self.loads = Counter(name.id for name in loaded if isinstance(name.ctx, ast.Load))

    def _read(self, body: Iterable[ast.AST], prefix: str) -> None:
        for node in body:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self.functions[prefix + node.name] = node
                case ast.ClassDef():
                    self.classes[prefix + node.name] = node
                    self.bases[prefix + node.name] = tuple(ast.unparse(base) for base in node.bases)
                    self._read(node.body, f"{prefix}{node.name}::")
                case ast.ImportFrom(names=[ast.alias(name="*")]):
                    self.stars.append(node.module or "")
                case ast.ImportFrom():
                    self.imports |= {a.asname or a.name: (node.module or "", a.name) for a in node.names}
                case ast.Import():
                    self.imports |= {a.asname or a.name: (a.name, "") for a in node.names}
                case ast.Assign(targets=targets, value=value):
                    self._take_assignment(node, prefix)
                    if not prefix:
                        self._hold_value([one.id for one in targets if isinstance(one, ast.Name)], value)
                case ast.Expr():
                    self._take_assignment(node, prefix)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if not prefix:
                    self._hold_value([name], value)
                case ast.stmt():
                    self._read(ast.iter_child_nodes(node), prefix)

    def _hold_value(self, names: Iterable[str], value: ast.expr) -> None:
        for name in names:
            self.constants[name] = value
            self.values.setdefault(name, []).append(value)

    def _take_assignment(self, node: ast.stmt, prefix: str) -> None:
        """Records a name for a function that a call makes: by assignment, `setattr`, or `globals()`."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=made):
                self._record_made(ast.Constant(name), made, prefix)
            case ast.Expr(ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id=owner), named, made])):
                self._record_made(named, made, f"{owner}::")
            case ast.Assign(targets=[ast.Subscript(value=ast.Call(func=table), slice=named)], value=made):
                if last_name(table) == "globals":
                    self._record_made(named, made, "")

    def _record_made(self, name: ast.expr, made: ast.expr, prefix: str) -> None:
        pattern = _pattern(name)
        match made:
            case ast.Call(func=ast.Name(id=maker)) if pattern and maker in self.functions:
                inner = _returned_function(self.functions[maker])
                if inner is not None:
                    self.functions.setdefault(f"{maker}::{inner.name}", inner)
                    self.made.append((re.compile(re.escape(prefix) + pattern), f"{maker}::{inner.name}"))

    def maker_of(self, function: str) -> str | None:
        """The only made function that may have this name; None if there is none, or more than one."""
        found = {made for pattern, made in self.made if pattern.fullmatch(function)}
        return found.pop() if len(found) == 1 else None

    @cached_property
    def _asserted(self) -> list[tuple[str, int]]:
        return [(found.scope, found.line) for found in read(self.text).assertions]

    def assertion_lines(self, function: str) -> frozenset[int]:
        """The lines of a function's assertions, with those of functions inside it."""
        inner = f"{function}::"
        return frozenset(line for scope, line in self._asserted if f"{scope}::".startswith(inner))


read_code = lru_cache(maxsize=16)(Code)
"""Reads a file. The last ones are cached, since one comparison asks for each of them several times."""


def _pattern(name: ast.expr) -> str:
    """A regular expression for the names that the expression may make; empty if that is not known."""
    match name:
        case ast.Constant(value=str(text)):
            return re.escape(text)
        case ast.JoinedStr(values=parts):
            fixed = (p.value for p in parts if isinstance(p, ast.Constant))
            texts = [re.escape(str(p.value)) if isinstance(p, ast.Constant) else ".+" for p in parts]
            return "".join(texts) if any(str(text).startswith("test") for text in fixed) else ""
        case _:
            return ""


def _returned_function(maker: Function) -> Function | None:
    """The function that a function defines and returns."""
    match maker.body[-1]:
        case ast.Return(value=ast.Name(id=name)):
            inner = (node for node in maker.body if isinstance(node, Function) and node.name == name)
            return next(inner, None)
        case _:
            return None


_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_EXPECTING = frozenset({"raises", "warns", "deprecated_call", "fail"})
_CATCHING = frozenset({"suppress", "raises", "assertRaises"})
_RAISING = frozenset({"raises", "assertRaises", "assertRaisesRegex"})
BROAD = frozenset({"Exception", "BaseException", "AssertionError"})


@value
class AssertionPlace:
    code: Code
    function: Function
    node: ast.stmt
    guarded: bool
    """True if the test may rightly pass without it: it is in a branch, a loop, or inside a `try`."""


_Place = tuple[Code, str]
"""A file and a qualified name in it."""


class Tests:
    """All test files that a run loads, each parsed when it is first needed."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._codes: dict[str, Code | None] = {}

    def code(self, path: str) -> Code | None:
        if path not in self._codes:
            try:
                self._codes[path] = read_code(path, self._texts[path]) if path in self._texts else None
            except SyntaxError:
                self._codes[path] = None
        return self._codes[path]

    def text(self, path: str) -> str:
        return self._texts[path]

    def assertions(
        self, code: Code, function: str, *, guarded: bool = False, seen: frozenset[object] = frozenset()
    ) -> Iterator[AssertionPlace]:
        place = self.find(code, function)
        if place is None or place in seen:
            return
        seen |= {place}
        there, name = place
        node, lines = there.functions[name], there.assertion_lines(name)
        for stmt, under in _statements(node.body, guarded):
            helpers = []
            for call, direct in _calls(stmt):
                helper = self._find_super(place, call) or self._find_helper(there, (code, function), call)
                if helper is not None:
                    found = [*self.assertions(*helper, guarded=under or not direct, seen=seen)]
                    yield from found
                    helpers += [call] if found else []
            if stmt.lineno in lines and _is_assertion(stmt) and not _is_call_of(stmt, helpers):
                yield AssertionPlace(there, node, stmt, under)

    def find(self, code: Code, function: str, seen: frozenset[object] = frozenset()) -> _Place | None:
        """The definition of a function: here, in a base class, or in the test file that it comes from."""
        if function in code.functions:
            return code, function
        if (code, function) in seen:
            return None
        seen |= {(code, function)}
        made = code.maker_of(function)
        if made is not None:
            return code, made
        owner, _, name = function.rpartition("::")
        if owner in code.bases:
            inherited = (self._resolve_name(code, base) for base in code.bases[owner])
            meant = [(m[0], f"{m[1]}::{name}") for m in inherited if m is not None]
        else:
            meant = self._from_elsewhere(code, function)
        return next(filter(None, (self.find(*place, seen) for place in meant)), None)

    def methods(self, code: Code, owner: str, seen: frozenset[object] = frozenset()) -> Iterator[_Place]:
        """The methods that a class inherits from bases in test files, the nearest base first."""
        for base in code.bases.get(owner, ()):
            place = self._resolve_name(code, base)
            if place is not None and place not in seen:
                there, name = place
                yield from ((there, f) for f in there.functions if f.rpartition("::")[0] == name)
                yield from self.methods(there, name, seen | {place})

    def bases(self, code: Code, owner: str, seen: frozenset[object] = frozenset()) -> Iterator[str]:
        """The names of all direct and indirect bases of a class, as they are written."""
        for base in code.bases.get(owner, ()):
            yield base
            place = self._resolve_name(code, base)
            if place is not None and place not in seen:
                yield from self.bases(*place, seen | {place})

    def _from_elsewhere(self, code: Code, function: str) -> list[_Place]:
        """The definitions of this name in the files from which this one imports it."""
        outer, separator, inner = function.partition("::")
        found = [self._find_imported(code, star, outer) for star in code.stars]
        found += [self._resolve_name(code, outer)] if outer in code.imports else []
        return [(place[0], f"{place[1]}{separator}{inner}") for place in found if place is not None]

    def _resolve_name(self, code: Code, dotted: str) -> _Place | None:
        """The class or function of a test file that a dotted name means here."""
        first, _, rest = dotted.partition(".")
        if dotted in code.bases:
            return code, dotted
        if first not in code.imports:
            return None
        module, name = code.imports[first]
        if not rest:
            return self._find_imported(code, module, name)
        return self._find_imported(code, f"{module}.{name}".strip("."), rest)

    def _find_super(self, place: _Place, call: ast.Call) -> _Place | None:
        code, function = place
        match call.func:
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name):
                owner = function.rpartition("::")[0]
                meant = (self._resolve_name(code, base) for base in code.bases.get(owner, ()))
                found = (self.find(m[0], f"{m[1]}::{name}") for m in meant if m is not None)
                return next(filter(None, found), None)
            case _:
                return None

    def _find_helper(self, code: Code, within: _Place, call: ast.Call) -> _Place | None:
        """The helper that a call means. `within`: the running test, in the class that is collected."""
        own, owner = within[0], within[1].rpartition("::")[0]
        match call.func:
            case ast.Name(id=name) if name in code.functions:
                return code, name
            case ast.Name(id=name) if name in code.imports:
                return self._find_imported(code, *code.imports[name])
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name) if owner:
                return own, f"{owner}::{name}"
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in code.imports:
                parent, child = code.imports[module]
                return self._find_imported(code, f"{parent}.{child}".strip("."), name)
            case _:
                return None

    def _find_imported(self, code: Code, module: str, name: str) -> _Place | None:
        """Finds a name in the only test file that the module's name can mean; see `files_of_module`."""
        paths = files_of_module(module, code.path, self._texts)
        found = self.code(paths[0]) if len(paths) == 1 else None
        return None if found is None else (found, name)


def _statements(body: Iterable[ast.stmt], guarded: bool) -> Iterator[tuple[ast.stmt, bool]]:
    for node in body:
        yield node, guarded
        yield from _inner_statements(node, guarded)
        if isinstance(node, _LEAVES):
            return
        guarded = guarded or (_is_block(node) and leaves(node))


def _inner_statements(node: ast.stmt, guarded: bool) -> Iterator[tuple[ast.stmt, bool]]:
    match node:
        case ast.With(body=body, items=items) | ast.AsyncWith(body=body, items=items):
            guarded = guarded or any(_swallows(item.context_expr) for item in items)
            if any(_expects_raise(item.context_expr) for item in items):
                # The last statement is expected to raise, so its changed form may raise as well: guarded.
                yield from _statements(body[:-1], guarded)
                yield from _statements(body[-1:], guarded=True)
            else:
                yield from _statements(body, guarded)
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
    return any(isinstance(inner, _LEAVES) for inner in nodes_in(node))


def _is_block(node: ast.stmt) -> bool:
    return hasattr(node, "body") and not isinstance(node, Function | ast.ClassDef)


def _expects_raise(context: ast.expr) -> bool:
    return isinstance(context, ast.Call) and last_name(context.func) in _RAISING


def _swallows(context: ast.expr) -> bool:
    """Whether this context may catch a failed assertion in its block."""
    if not isinstance(context, ast.Call) or last_name(context.func) not in _CATCHING:
        return False
    parts = (part for arg in context.args for part in nodes_in(arg))
    return any(isinstance(part, ast.Name | ast.Attribute) and last_name(part) in BROAD for part in parts)


def _is_assertion(stmt: ast.stmt) -> bool:
    """Whether a statement is the assertion on its line, which may hold several statements."""
    match stmt:
        case ast.Assert():
            return True
        case ast.Expr(value=value):
            calls = [node for node in nodes_in(value) if isinstance(node, ast.Call)]
        case ast.With(items=items) | ast.AsyncWith(items=items):
            calls = [item.context_expr for item in items if isinstance(item.context_expr, ast.Call)]
        case _:
            return False
    names = [last_name(call.func).lower() for call in calls]
    return any(name.startswith("assert") or name in _EXPECTING for name in names)


def _calls(stmt: ast.stmt) -> Iterator[tuple[ast.Call, bool]]:
    """The calls in a statement, not in its blocks; and whether each is made whenever the statement runs."""
    direct = getattr(stmt, "value", None)
    direct = direct.value if isinstance(direct, ast.Await) else direct
    own = (child for child in ast.iter_child_nodes(stmt) if isinstance(child, ast.expr | ast.withitem))
    if isinstance(stmt, Function | ast.ClassDef):
        return
    for child in own:
        for node in nodes_in(child):
            if isinstance(node, ast.Call):
                yield node, node is direct


def _is_call_of(stmt: ast.stmt, helpers: list[ast.Call]) -> bool:
    """Whether a statement only calls a helper whose own assertions were found."""
    value = getattr(stmt, "value", None)
    return any(value is call or getattr(value, "value", None) is call for call in helpers)
