"""What takes tests out of a run, or a run out of the tests' hands: skips, deselection, hooks."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.python.stubforms import Function, last_name
from verdigris.languages.python.testmarks import skip_owners, skips

if TYPE_CHECKING:
    from collections.abc import Iterator

_DESELECTING = frozenset({"collect_ignore", "collect_ignore_glob", "__test__"})
_COLLECTING = ("pytest_collection", "pytest_ignore_collect", "pytest_collect", "pytest_itemcollected")
_RUNNING = (
    *(
        "pytest_runtest",
        "pytest_pyfunc_call",
        "pytest_pycollect",
        "pytest_make_collect",
        "pytest_sessionfinish",
    ),
    *(
        "pytest_report_teststatus",
        "pytest_cmdline",
        "pytest_load_initial",
        "pytest_assertion",
        "pytest_exception",
    ),
    *("pytest_fixture_setup", "pytest_configure", "pytest_generate_tests"),
)


@value
class Mark:
    kind: str
    line: int
    what: str
    scope: str
    """The test, class or function that it stands in or on; empty for the whole file."""


def marks(tree: ast.Module) -> Iterator[Mark]:
    yield from _marks(tree.body, "", skip_owners(tree))


def _marks(body: list[ast.stmt], scope: str, owners: frozenset[str]) -> Iterator[Mark]:
    for node in body:
        match node:
            case ast.ClassDef(name=name, body=inner):
                inside = f"{scope}{name}"
                for decorator in node.decorator_list:
                    yield from _skipped(decorator, inside, owners)
                yield from _marks(inner, f"{inside}::", owners)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield from _skipped(node, f"{scope}{name}", owners)
                yield from _hooks(node)
            case _:
                yield from _skipped(node, scope.removesuffix("::"), owners)
                yield from _assigned(node, scope.removesuffix("::"))


def _skipped(node: ast.AST, scope: str, owners: frozenset[str]) -> Iterator[Mark]:
    yield from (Mark("skipped", mark.line, mark.what, scope) for mark in skips(node, owners))


def _hooks(node: Function) -> Iterator[Mark]:
    if node.name.startswith(_COLLECTING):
        yield Mark("deselected", node.lineno, ast.unparse(node), "")
    elif node.name.startswith(_RUNNING):
        yield Mark("hook", node.lineno, ast.unparse(node), "")


def _assigned(node: ast.stmt, scope: str) -> Iterator[Mark]:
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
