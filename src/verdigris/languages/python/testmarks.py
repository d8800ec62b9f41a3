"""What a test file skips, or expects to fail."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.python.stubforms import last_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_SKIPS = frozenset(
    {
        "skip",
        "skipif",
        "xfail",
        "importorskip",
        "skipIf",
        "skipUnless",
        "skipTest",
        "SkipTest",
        "expectedFailure",
    }
)
_SKIP_OWNERS = frozenset({"pytest", "mark", "unittest", "self", "cls", "case"})


@value
class Mark:
    line: int
    what: str


def skip_owners(tree: ast.Module) -> frozenset[str]:
    """Names whose `skip` is a test tool's."""
    return _SKIP_OWNERS | {
        alias.asname or alias.name for alias in _aliases(tree, {"pytest", "unittest", "mark"})
    }


def skips(tree: ast.AST, owners: frozenset[str]) -> Iterator[Mark]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_skip(node.func, owners)]
    called = {id(call.func) for call in calls}
    bare = [
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.Name | ast.Attribute) and _is_skip(n, owners) and id(n) not in called
    ]
    for node in [*calls, *bare]:
        yield Mark(node.lineno, ast.unparse(node))
    for alias in _aliases(tree, _SKIPS):
        if alias.asname not in {None, alias.name}:
            yield Mark(alias.lineno, ast.unparse(alias))


def _aliases(tree: ast.AST, names: Collection[str]) -> Iterator[ast.alias]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.alias) and node.name in names)


def _is_skip(node: ast.expr, owners: Collection[str]) -> bool:
    match node:
        case ast.Attribute(value=owner, attr=name):
            return name in _SKIPS and last_name(owner) in owners
        case ast.Name(id=name):
            return name in _SKIPS
        case _:
            return False
