"""Decides whether a change of Python source adds only stubs."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.findings import StubFinding
from verdigris.languages.python.same_code import foreign_encoding
from verdigris.languages.python.stubs.forms import (
    Function,
    aliases,
    are_equal,
    class_header_fault,
    describe,
    field_fault,
    function_fault,
    is_constant,
    is_docstring,
    is_type_checking,
    last_name,
    makes_type,
    read_exports,
    signature_fault,
    type_params,
)
from verdigris.languages.python.stubs.origins import Origins, read_marks
from verdigris.languages.python.syntax import first_line, lines_of, parse
from verdigris.languages.stub_rules import (
    StubContext,
    check_names,
    compare_items,
    find_unmarked,
    member_context,
    report_fault,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_HIDES = "`import *` hides which names it imports"


@value
class Statement:
    node: ast.stmt
    names: tuple[str, ...]
    form: str
    line: int
    last: int
    is_broken: bool = False

    @property
    def marked_to(self) -> int:
        return self.last

    @property
    def label(self) -> str:
        return describe(self.node)


def only_stubs(before: str | None, after: str) -> StubFinding | None:
    """The first place where a change adds more than stubs.

    None if every old statement is there, unchanged and in order, and every new one is a stub.
    """
    if (encoding := foreign_encoding(after)) is not None:
        return StubFinding(1, f"it declares the encoding {encoding}, in which a comment may hold code")
    try:
        new = parse(after)
    except SyntaxError as error:
        return StubFinding(error.lineno or 1, f"syntax error: {error.msg}")
    try:
        old = parse(before or "")
    except SyntaxError as error:
        return StubFinding(error.lineno or 1, "the file as it was does not parse, so nothing can be compared")
    try:
        marks = read_marks(after.removeprefix("\ufeff"), new, new=not old.body)
    except SyntaxError as error:
        return StubFinding(1, error.msg)
    used = {node.id for node in ast.walk(old) if isinstance(node, ast.Name) and hasattr(builtins, node.id)}
    seen = StubContext(marks, _names_bound_in(old) | used, existing=bool(old.body))
    rules = _PythonRules(Origins.of(new), _modules(old))
    return next(compare_items(rules, rules.items(old.body), rules.items(new.body), seen), None)


class _PythonRules:
    def __init__(self, origins: Origins, modules: frozenset[str] = frozenset()) -> None:
        self.origins = origins
        self.modules = modules
        """Modules that existing code imports: an import of another part of one takes no new name."""

    def items(self, body: Sequence[ast.stmt]) -> list[Statement]:
        """The statements that do something: docstrings may change in every phase."""
        return [
            Statement(node, self._names(node), ast.dump(node), *lines_of(node))
            for node in body
            if not _is_filler(node) and not is_docstring(node)
        ]

    def _names(self, node: ast.stmt) -> tuple[str, ...]:
        """The names that a statement takes. Overloads share one, and so do the parts of a property."""
        if is_type_checking(node) or {"overload", "setter", "getter", "deleter"} & _decorators(node):
            return ()
        bound = _names_bound_in(node)
        return tuple(bound - (_modules(node) & self.modules) if isinstance(node, ast.Import) else bound)

    def is_successor(self, old: Statement, new: Statement) -> bool:
        match old.node, new.node:
            case (
                (ast.FunctionDef() | ast.AsyncFunctionDef() as was),
                (ast.FunctionDef() | ast.AsyncFunctionDef() as now),
            ):
                same = type(was) is type(now) and was.name == now.name
                return same and are_equal(was.decorator_list, now.decorator_list)
            case ((ast.ClassDef() as was), (ast.ClassDef() as now)):
                heads = ((n.bases, n.keywords, n.decorator_list, type_params(n)) for n in (was, now))
                return was.name == now.name and all(map(are_equal, *heads))
            case ((ast.Import() as was), (ast.Import() as now)):
                return aliases(was) <= aliases(now)
            case ((ast.ImportFrom() as was), (ast.ImportFrom() as now)):
                return (was.module, was.level) == (now.module, now.level)
            case ((ast.If() as was), (ast.If() as now)):
                return is_type_checking(was) and is_type_checking(now) and are_equal(was.orelse, now.orelse)
            case was, now:
                return read_exports(was) is not None and read_exports(now) is not None

    def judge_growth(self, old: Statement, new: Statement, seen: StubContext) -> Iterator[StubFinding]:
        fault: str | None = None
        match old.node, new.node:
            case ast.ClassDef(body=before), ast.ClassDef(body=after):
                inner = _names_bound_in(*before)
                scope = member_context(seen, new, taken=inner, existing=True, covered=False)
                rules = _PythonRules(self.origins)
                for one in compare_items(rules, rules.items(before), rules.items(after), scope):
                    yield StubFinding(one.line, f"in {new.label}: {one.why}")
            case ast.If(body=before), ast.If(body=after):
                yield from self._judge_imports(before, after, seen)
            case (
                (ast.FunctionDef() | ast.AsyncFunctionDef() as was),
                (ast.FunctionDef() | ast.AsyncFunctionDef() as now),
            ):
                fault = signature_fault(was, now, marked=seen.is_marked(new))
            case ((ast.Import() | ast.ImportFrom() as was), (ast.Import() | ast.ImportFrom() as now)):
                gone = sorted(name for name, _ in aliases(was) - aliases(now))
                added = [asname or name for name, asname in sorted(aliases(now) - aliases(was), key=str)]
                fault = f"`{gone[0]}` is no longer imported" if gone else None
                fault = _HIDES if "*" in added else fault
                yield from check_names(new.line, added, seen)
            case was, now:
                lost = sorted((read_exports(was) or frozenset()) - (read_exports(now) or frozenset()))
                fault = f"`{lost[0]}` is gone from `__all__`" if lost else None
        if fault is not None:
            yield StubFinding(new.line, fault)

    def judge_addition(self, item: Statement, seen: StubContext) -> Iterator[StubFinding]:
        match item.node:
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                yield StubFinding(item.line, _HIDES)
            case ast.Import() | ast.ImportFrom():
                pass
            case ast.If(orelse=[], body=body) as node if is_type_checking(node):
                yield from self._judge_imports((), body, seen)
            case node if read_exports(node) is not None:
                pass
            case node if self._may_declare(node):
                yield from find_unmarked(item, seen)
                yield from report_fault(item, self._fault(node))
                yield from self._judge_members(node)
            case _:
                yield StubFinding(item.line, f"the statement {item.label} does work")
        yield from _find_taken(item, seen)

    def _judge_imports(
        self, before: Sequence[ast.stmt], after: Sequence[ast.stmt], seen: StubContext
    ) -> Iterator[StubFinding]:
        earlier = {ast.dump(node) for node in before}
        for node in after:
            if not isinstance(node, ast.Import | ast.ImportFrom) and ast.dump(node) not in earlier:
                yield StubFinding(first_line(node), "only imports may be added under TYPE_CHECKING")
        yield from compare_items(self, self.items(before), self.items(after), seen)

    def _may_declare(self, node: ast.stmt) -> bool:
        match node:
            case ast.Assign(targets=[ast.Name()], value=value) if self._is_member_value(value):
                return True
            case _:
                declares = isinstance(node, Function | ast.ClassDef | ast.AnnAssign)
                return declares or makes_type(node, self.origins)

    def _fault(self, node: ast.stmt) -> str | None:
        """Why a declaration by itself is no stub; None if it is one."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return function_fault(node, self.origins)
            case ast.ClassDef():
                return class_header_fault(node, self.origins)
            case ast.AnnAssign():
                return field_fault(node, self.origins)
            case _:
                return None

    def _judge_members(self, node: ast.stmt) -> Iterator[StubFinding]:
        """Judges what stands in a new class; its own mark covers it."""
        for member in node.body if isinstance(node, ast.ClassDef) else ():
            match member:
                case ast.Assign(targets=[ast.Name()], value=value):
                    fault = None if self._is_member_value(value) else "the value is not a constant"
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.AnnAssign():
                    fault = self._fault(member)
                case _:
                    fault = None if is_docstring(member) or _is_filler(member) else "the statement does work"
            if fault is not None:
                yield StubFinding(first_line(member), f"in {describe(node)}: {fault}")
            yield from self._judge_members(member)

    def _is_member_value(self, value: ast.expr) -> bool:
        return is_constant(value) or (
            isinstance(value, ast.Call) and self.origins.origin(value.func) == "enum.auto" and not value.args
        )


def _find_taken(item: Statement, seen: StubContext) -> Iterator[StubFinding]:
    """Finds an overload of what exists, and special methods."""
    node = item.node
    if (
        isinstance(node, Function)
        and "overload" in _decorators(node)
        and node.name in seen.taken | seen.added
    ):
        yield StubFinding(item.line, f"`{node.name}` exists already, and would be replaced")
    if seen.existing and isinstance(node, Function | ast.Assign | ast.AnnAssign):
        for name in item.names:
            if name.startswith("__") and name.endswith("__"):
                yield StubFinding(item.line, f"`{name}` would change how existing code behaves")


def _decorators(node: ast.stmt) -> frozenset[str]:
    decorators = node.decorator_list if isinstance(node, Function) else []
    return frozenset(map(last_name, decorators))


def _names_bound_in(*nodes: ast.AST) -> frozenset[str]:
    return frozenset(name for node in nodes for name in bound_names(node))


def bound_names(node: ast.AST) -> Iterator[str]:
    """The names that a statement binds in its own scope."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case ast.Name(id=name, ctx=ast.Store()):
            yield name
        case _:
            for child in ast.iter_child_nodes(node):
                yield from bound_names(child)


def _modules(tree: ast.AST) -> frozenset[str]:
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.Import))
    return frozenset(a.name.partition(".")[0] for node in imports for a in node.names if a.asname is None)


def _is_filler(node: ast.stmt) -> bool:
    """Whether a statement is `pass` or `...`, which only fill a body."""
    return isinstance(node, ast.Pass) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is ...
    )
