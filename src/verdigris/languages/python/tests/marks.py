"""The marks that take Python tests out of a run, or that change how they run."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING

from verdigris.languages.assertions import Mark
from verdigris.languages.python.stubs.forms import Function, last_name
from verdigris.languages.python.syntax import nodes_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

_SKIPS = frozenset(
    {
        *("skip", "skipif", "xfail", "importorskip", "skipIf", "skipUnless", "skipTest", "SkipTest"),
        "expectedFailure",
    }
)
_SKIP_OWNERS = frozenset({"pytest", "mark", "unittest", "self", "cls", "case"})
_DESELECTING = frozenset({"collect_ignore", "collect_ignore_glob", "__test__"})
_COLLECTING = ("pytest_collection", "pytest_ignore_collect", "pytest_collect", "pytest_itemcollected")
_RUNNING = (
    *("pytest_runtest", "pytest_pyfunc_call", "pytest_pycollect", "pytest_make_collect"),
    *("pytest_sessionfinish", "pytest_report_teststatus", "pytest_cmdline", "pytest_load_initial"),
    *("pytest_assertion", "pytest_exception", "pytest_fixture_setup", "pytest_configure"),
    "pytest_generate_tests",
)


@lru_cache(maxsize=16)
def marks(tree: ast.Module) -> tuple[Mark, ...]:
    """The marks of a file. The last ones are cached, like the trees."""
    tools = {alias.asname or alias.name for alias in _aliases(nodes_in(tree), {"pytest", "unittest", "mark"})}
    return tuple(_marks(tree.body, "", _SKIP_OWNERS | tools))


def _marks(body: list[ast.stmt], scope: str, owners: frozenset[str]) -> Iterator[Mark]:
    """`owners`: the names of objects whose `skip` is that of a test tool."""
    for node in body:
        match node:
            case ast.ClassDef(name=name, body=inner):
                inside = f"{scope}{name}"
                for decorator in node.decorator_list:
                    yield from _find_skips(decorator, inside, owners)
                yield from _marks(inner, f"{inside}::", owners)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield from _find_skips(node, f"{scope}{name}", owners)
                yield from _find_hooks(node)
            case _:
                yield from _find_skips(node, scope.removesuffix("::"), owners)
                yield from _find_assignments(node, scope.removesuffix("::"))


def _find_skips(tree: ast.AST, scope: str, owners: frozenset[str]) -> Iterator[Mark]:
    nodes = nodes_in(tree)
    calls = [node for node in nodes if isinstance(node, ast.Call) and _is_skip(node.func, owners)]
    called = {id(call.func) for call in calls}
    bare = [
        n
        for n in nodes
        if isinstance(n, ast.Name | ast.Attribute) and _is_skip(n, owners) and id(n) not in called
    ]
    for node in [*calls, *bare]:
        yield Mark("skipped", node.lineno, ast.unparse(node), scope)
    for alias in _aliases(nodes, _SKIPS):
        if alias.asname not in {None, alias.name}:
            yield Mark("skipped", alias.lineno, ast.unparse(alias), scope)


def _aliases(nodes: Iterable[ast.AST], names: Collection[str]) -> Iterator[ast.alias]:
    return (node for node in nodes if isinstance(node, ast.alias) and node.name in names)


def _is_skip(node: ast.expr, owners: Collection[str]) -> bool:
    match node:
        case ast.Attribute(value=owner, attr=name):
            return name in _SKIPS and last_name(owner) in owners
        case ast.Name(id=name):
            return name in _SKIPS
        case _:
            return False


def _find_hooks(node: Function) -> Iterator[Mark]:
    if node.name.startswith(_COLLECTING):
        yield Mark("deselected", node.lineno, ast.unparse(node), "")
    elif node.name.startswith(_RUNNING):
        yield Mark("hook", node.lineno, ast.unparse(node), "")


def _find_assignments(node: ast.stmt, scope: str) -> Iterator[Mark]:
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            names = {last_name(target) for target in targets}
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            names = {last_name(target)}
        case _:
            return
    if names & _DESELECTING and ast.unparse(node) != "__test__ = True":
        yield Mark("deselected", node.lineno, ast.unparse(node), scope)
    elif "pytest_plugins" in names:
        yield Mark("hook", node.lineno, ast.unparse(node), scope)
