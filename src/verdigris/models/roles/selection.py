"""The files that matter: which are told first where not all of them fit."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from verdigris.core.pathclass import PathClass
from verdigris.models.roles.imports import imported
from verdigris.models.roles.showable import worth_telling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from verdigris.models.roles.material import Tree


def by_weight(tree: Tree, classify: Callable[[str], PathClass], named: Iterable[str] = ()) -> tuple[str, ...]:
    """Texts worth telling: those named, what the tests import, the tests, then the rest from near to far."""
    first = [path for path in named if path in tree]
    tests = sorted(path for path in tree if classify(path) is PathClass.TEST)
    near = [*first, *imports_of(tests, tree), *tests]
    distances = _distances(tree, frozenset(map(posixpath.dirname, near)))
    rest = sorted(tree, key=lambda path: (_rank(path, classify), distances[posixpath.dirname(path)], path))
    ordered = dict.fromkeys((*near, *rest))
    told = (path for path in ordered if classify(path) is not PathClass.SWITCH)
    return tuple(path for path in told if worth_telling(path, tree[path]))


def imports_of(paths: Iterable[str], tree: Tree) -> tuple[str, ...]:
    files = frozenset(tree)
    found = (imported(path, tree[path] or "", files) for path in paths if path in tree)
    return tuple(dict.fromkeys(name for names in found for name in names))


def _rank(path: str, classify: Callable[[str], PathClass]) -> int:
    """Source before what describes the project, and that before its other texts."""
    if classify(path) is PathClass.SOURCE:
        return 0
    return 1 if "/" not in path else 2


def _distances(tree: Tree, near: frozenset[str]) -> dict[str, int]:
    """From each folder, steps through the tree to the nearest of those that matter."""
    parts = [folder.split("/") for folder in near]
    folders = frozenset(map(posixpath.dirname, tree))
    return {f: min((_steps(f.split("/"), other) for other in parts), default=0) for f in folders}


def _steps(one: list[str], other: list[str]) -> int:
    common = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        common += 1
    return len(one) + len(other) - 2 * common
