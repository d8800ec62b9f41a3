"""Says whether two texts of a module bind their names in an order that no statement can tell apart.

What a module does while it is loaded may read what stands above it: a literal, a function or an import that
moves across a statement which reads it changes what is loaded, though each of them stays as it was.
"""

from __future__ import annotations

import ast
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.python.syntax import shared_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_OTHER = "statement"


@value
class _Step:
    """A statement of the module."""

    key: str
    """Finds it in another text: the name that it binds, or its kind."""
    binds: frozenset[str]
    reads: frozenset[str] | None
    """Names that it looks up where it stands; None where it may look up any."""
    imports: bool = False


def keep_order(before: str, after: str, changed: frozenset[str] = frozenset()) -> bool:
    """Whether each statement that is in both finds the same of their common names above it.

    `changed`: names that mean something else wherever they stand, so that who says them is known already.
    """
    old, new = (dict(_with_names_above(_steps(text))) for text in (before, after))
    steps = [step for side in (old, new) for step, _ in side.values()]
    imported = frozenset(name for step in steps if step.imports for name in step.binds)
    common = frozenset.intersection(
        *(frozenset(name for step, _ in side.values() for name in step.binds) for side in (old, new))
    )
    common -= changed
    for key in old.keys() & new.keys():
        (step, above), (other, above_other) = old[key], new[key]
        # A module that is loaded may read this one; what other imports bound here is nothing to it.
        asked = common - imported if step.imports else common
        if step.reads is not None and other.reads is not None:
            asked &= step.reads | other.reads
        if any(above.get(name) != above_other.get(name) for name in asked):
            return False
    return True


def _with_names_above(
    steps: tuple[_Step, ...],
) -> Iterator[tuple[tuple[str, int], tuple[_Step, dict[str, int]]]]:
    """Each statement with how often each name is bound above it."""
    above: dict[str, int] = {}
    keys: Counter[str] = Counter()
    for step in steps:
        keys[step.key] += 1
        yield (step.key, keys[step.key]), (step, above)
        if step.binds:
            above = above | {name: above.get(name, 0) + 1 for name in step.binds}


@lru_cache(maxsize=256)
def _steps(text: str) -> tuple[_Step, ...]:
    tree = shared_tree(text)
    return () if tree is None else tuple(map(_read_step, tree.body))


def _read_step(node: ast.stmt) -> _Step:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return _Step(name, frozenset({name}), _reads(node))
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return _Step(name, frozenset({name}), _reads(node))
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            bound = frozenset(one.asname or one.name.partition(".")[0] for one in names)
            return _Step(ast.dump(node), bound, None, imports=True)
        case ast.Expr(value=ast.Constant()):
            return _Step(_OTHER, frozenset(), frozenset())
        case _:
            return _Step(_OTHER, frozenset(), None)


def _reads(node: ast.stmt) -> frozenset[str] | None:
    """What is called may read anything of the module."""
    found = list(_nodes_at_load(node))
    if any(isinstance(one, ast.Call | ast.Await) for one in found) or _is_decorated(found):
        return None
    return frozenset(one.id for one in found if isinstance(one, ast.Name))


def _is_decorated(nodes: list[ast.AST]) -> bool:
    return any(isinstance(one, _Function | ast.ClassDef) and one.decorator_list for one in nodes)


def _nodes_at_load(node: ast.AST) -> Iterator[ast.AST]:
    """All but the bodies of functions."""
    yield node
    body = node.body if isinstance(node, _Function) else [node.body] if isinstance(node, ast.Lambda) else []
    for child in ast.iter_child_nodes(node):
        if child not in body:
            yield from _nodes_at_load(child)
