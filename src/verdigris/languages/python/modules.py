"""Which module a Python file is, and from which folders modules are imported."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SUFFIX = ".py"
ENDS = (SUFFIX, f"/__init__{SUFFIX}")
"""What follows the path of a module, where it is a file or a package."""


def without_suffix(path: str) -> str:
    """The path of the module: that of a package is its folder."""
    return path.removesuffix(SUFFIX).removesuffix("/__init__")


def dotted_name(path: str) -> str:
    """The name by which it is imported from the root of the tree."""
    return without_suffix(path).replace("/", ".")


def import_roots(paths: Iterable[str]) -> tuple[str, ...]:
    """Folders from which the project's modules may be imported: above each package, and all above those."""
    files = frozenset(path for path in paths if path.endswith(SUFFIX))
    roots: set[str] = set()
    for folder in {posixpath.dirname(path) for path in files}:
        at = folder
        while at and f"{at}{ENDS[1]}" in files:
            at = posixpath.dirname(at)
        while at not in roots:
            roots.add(at)
            at = posixpath.dirname(at)
    return tuple(sorted(roots))
