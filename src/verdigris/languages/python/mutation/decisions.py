"""Finds the decisions in source, and which of them were there before in another form.

Conditions are compared in one form (`conditions.py`). Names and small functions that only stand for a
condition are written out. An `if` directly inside another is joined to it by `and`; guards that lead to the
same end are joined by `or`.
"""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.assertion_matching import match_assertions
from verdigris.languages.assertions import Assertion, Name
from verdigris.languages.python.mutation.conditions import (
    WriteOut,
    canonical,
    copy_node,
    named_conditions,
    push_negations,
)
from verdigris.languages.python.stubs.forms import Function, is_docstring, is_elsewhere
from verdigris.languages.python.tests import local_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from verdigris.languages.literals import RenamedWords

    Scope = tuple[str, frozenset[str], Mapping[str, ast.expr]]


_HEAD = "parameters"
_DECISION = (ast.Compare, ast.BoolOp, ast.UnaryOp)


@value
class Site:
    path: str
    nodes: tuple[ast.expr, ...]
    """The nodes of the decision; several if they are read as one."""
    kind: str
    about: Assertion
    flipped: bool
    ways: tuple[str, str]
    """The first code that runs if the compared condition holds, and the first if it does not."""
    stands_for: tuple[ast.expr, ...] = ()
    """The expressions elsewhere for which its names stand."""


@value
class SameDecisions:
    """The indexes of old and new sites that are the same decision."""

    old: frozenset[int]
    new: frozenset[int]


def sites_of(trees: Mapping[str, ast.Module]) -> list[Site]:
    defined = Counter(
        node.name for tree in trees.values() for node in ast.walk(tree) if isinstance(node, Function)
    )
    found = [pair for tree in trees.values() for pair in _predicates(tree)]
    owned = Counter(name for name, _ in found)
    # If two functions have the same name, it is not known which one is called.
    predicates = {node.name: node for _, node in found if defined[node.name] == 1}
    predicates |= {name: node for name, node in found if "." in name and owned[name] == 1}
    return [site for path, tree in trees.items() for site in _DecisionReader(path, tree, predicates).sites()]


def find_same_decisions(then: Sequence[Site], now: Sequence[Site], renamed: RenamedWords) -> SameDecisions:
    matched = match_assertions([site.about for site in then], [site.about for site in now], renamed)
    pairs = {old: new for old, new in matched.items() if _leads_to_same_code(then[old], now[new])}
    inner = {id(node) for new in pairs.values() for node in now[new].stands_for}
    before = {id(node) for old in pairs for node in then[old].stands_for}
    return SameDecisions(
        frozenset([*pairs, *(at for at, site in enumerate(then) if _is_within(site, before))]),
        frozenset([*pairs.values(), *(at for at, site in enumerate(now) if _is_within(site, inner))]),
    )


def is_decision(site: Site) -> bool:
    return site.kind != _HEAD


def _leads_to_same_code(old: Site, new: Site) -> bool:
    """Whether a branch of both begins alike. A condition that became its opposite must swap its branches."""
    return old.flipped == new.flipped or any(a == b for a, b in zip(old.ways, new.ways, strict=True))


def _is_within(site: Site, elsewhere: set[int]) -> bool:
    return any(id(node) in elsewhere for node in site.nodes)


def _predicates(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """Functions that only return a condition, by name; methods by `Class.name`."""
    owners = {
        id(one): f"{node.name}."
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for one in node.body
    }
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(
                name=name, args=ast.arguments(defaults=[], kwonlyargs=[], vararg=None, kwarg=None)
            ):
                body = [one for one in node.body if not is_docstring(one)]
                if (
                    len(body) == 1
                    and isinstance(body[0], ast.Return)
                    and isinstance(body[0].value, _DECISION)
                ):
                    yield f"{owners.get(id(node), '')}{name}", node


class _DecisionReader:
    """Finds the decisions of one file."""

    def __init__(self, path: str, tree: ast.Module, predicates: Mapping[str, Function]) -> None:
        self.path, self.tree, self.predicates = path, tree, predicates
        self.following = dict(_map_following_code(tree.body, "None"))
        self.joined, self.absorbed = _joins(tree)

    def sites(self) -> Iterator[Site]:
        stack: list[tuple[ast.AST, Scope]] = [(node, ("", frozenset(), {})) for node in self.tree.body]
        while stack:
            node, (scope, local, named) = stack.pop()
            if isinstance(node, Function):
                scope, local, named = (
                    f"{scope}::{node.name}",
                    local | local_names(node),
                    named_conditions(node),
                )
                yield self._parameters(scope, node)
            elif isinstance(node, ast.ClassDef):
                scope = f"{scope}::{node.name}"
            for test, kind in _find_decisions(node):
                if id(node) not in self.absorbed or kind == "value":
                    yield self._site(node, test, kind, (scope, local, named))
            stack += ((child, (scope, local, named)) for child in reversed(list(ast.iter_child_nodes(node))))

    def _parameters(self, scope: str, node: Function) -> Site:
        """A site without a decision, which only matches the parameters of a function with the old ones."""
        names = tuple(Name(part.arg, local=True) for part in ast.walk(node.args) if isinstance(part, ast.arg))
        about = Assertion(node.lineno, "", f"{self.path}{scope}", f"{_HEAD} {len(names)}", names)
        return Site(self.path, (), _HEAD, about, flipped=False, ways=("", ""))

    def _site(self, node: ast.AST, test: ast.expr, kind: str, within: Scope) -> Site:
        scope, local, named = within
        nodes: tuple[ast.expr, ...] = (test,)
        asked = test
        if kind == "condition" and isinstance(node, ast.If) and (more := self.joined.get(id(node))):
            op, ifs = more
            nodes = tuple(one.test for one in ifs)
            asked = ast.BoolOp(op, list(nodes))
        out = WriteOut(named, self.predicates, scope.split("::")[-2] if scope.count("::") > 1 else "")
        whole = out.visit(copy_node(asked))
        flipped, form = False, push_negations(whole)
        if kind != "value":
            found = canonical(whole)
            flipped, form = found.flipped, found.node
        names: list[Name] = []
        shape = f"{'loop ' if kind == 'loop' else ''}{_shape(form, local, names)}"
        about = Assertion(test.lineno, "", f"{self.path}{scope}", shape, tuple(names))
        yes, no = self._ways(node)
        ways = (no, yes) if flipped else (yes, no)
        return Site(self.path, nodes, kind, about, flipped, ways, tuple(out.used))

    def _ways(self, node: ast.AST) -> tuple[str, str]:
        match node:
            case ast.If(orelse=other):
                last = self.joined[id(node)][1][-1] if id(node) in self.joined else node
                after = self.following.get(id(last), "None")
                return _describe_branch(last.body, after), _describe_branch(other, after)
            case ast.IfExp(body=yes, orelse=no):
                return ast.dump(yes), ast.dump(no)
            case ast.ListComp(elt=found) | ast.SetComp(elt=found) | ast.GeneratorExp(elt=found):
                return ast.dump(found), "continue"
            case ast.Return() | ast.Assign():
                return ast.dump(ast.Constant(value=True)), ast.dump(ast.Constant(value=False))
            case _:
                return "", "continue"


def _describe_branch(block: Sequence[ast.stmt], after: str) -> str:
    return _describe_statement(block[0]) if block else after


def _describe_statement(node: ast.stmt) -> str:
    match node:
        case ast.Return(value=None):
            return "None"
        case ast.Continue() | ast.Pass():
            return "continue"
        case ast.Return(value=ast.expr() as found) | ast.Assign(value=found):
            return ast.dump(found)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append" | "add"), args=[found])):
            return ast.dump(found)
        case _:
            return ast.dump(node)


def _map_following_code(block: Sequence[ast.stmt], after: str) -> Iterator[tuple[int, str]]:
    """Maps each `if` to the code that runs next if it has no `else`."""
    for at, node in enumerate(block):
        following = _describe_statement(block[at + 1]) if at + 1 < len(block) else after
        yield id(node), following
        inner = following
        if isinstance(node, ast.For | ast.AsyncFor | ast.While):
            inner = "continue"
        elif isinstance(node, Function | ast.ClassDef):
            inner = "None"
        for name in ("body", "orelse", "finalbody"):
            yield from _map_following_code(getattr(node, name, ()), inner)
        for handler in getattr(node, "handlers", ()):
            yield from _map_following_code(handler.body, inner)
        for case in getattr(node, "cases", ()):
            yield from _map_following_code(case.body, inner)


def _joins(tree: ast.Module) -> tuple[dict[int, tuple[ast.boolop, list[ast.If]]], set[int]]:
    joined: dict[int, tuple[ast.boolop, list[ast.If]]] = {}
    absorbed: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.If() if id(node) not in absorbed:
                nested = [node]
                while (inner := _only_if(nested[-1])) is not None:
                    nested.append(inner)
                if len(nested) > 1:
                    joined[id(node)] = ast.And(), nested
                    absorbed |= {id(one) for one in nested[1:]}
        for name in ("body", "orelse"):
            block = getattr(node, name, ())
            for guards in _guards(block if isinstance(block, list) else ()):
                joined[id(guards[0])] = ast.Or(), guards
                absorbed |= {id(one) for one in guards[1:]}
    return joined, absorbed


def _only_if(node: ast.If) -> ast.If | None:
    match node:
        case ast.If(body=[ast.If(orelse=[]) as inner], orelse=[]):
            return inner
        case _:
            return None


def _guards(block: Sequence[ast.stmt]) -> Iterator[list[ast.If]]:
    """Groups of `if` statements below each other that lead to the same end."""
    run: list[ast.If] = []
    for node in [*block, None]:
        match node:
            case ast.If(body=[ast.Return() | ast.Raise() | ast.Continue() | ast.Break() as end], orelse=[]):
                if run and ast.dump(run[-1].body[0]) == ast.dump(end):
                    run.append(node)
                    continue
                following = [node]
            case _:
                following = []
        if len(run) > 1:
            yield run
        run = following


def _find_decisions(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    tests = list(_tests(node))
    yield from tests
    asked = [test for test, _ in tests]
    match node:
        case ast.Return(value=ast.Compare() as told) | ast.Assign(value=ast.Compare() as told):
            yield told, "compared"
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.BoolOp) and not isinstance(node, ast.BoolOp) and child not in asked:
            yield child, "value"


def _tests(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    match node:
        case ast.If(test=test) if not is_elsewhere(test):
            yield test, "condition"
        case ast.IfExp(test=test) | ast.match_case(guard=ast.expr() as test):
            yield test, "condition"
        case ast.While(test=test) if not isinstance(test, ast.Constant):
            yield test, "loop"
        case ast.ListComp(generators=each) | ast.SetComp(generators=each) | ast.GeneratorExp(generators=each):
            yield from ((test, "condition") for one in each for test in one.ifs)
        case ast.DictComp(generators=each):
            yield from ((test, "condition") for one in each for test in one.ifs)


def _shape(node: ast.AST, local: frozenset[str], names: list[Name]) -> str:
    """Structure, operators and literals as text; names are appended to the list."""
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
