"""Maps Python files to modules and imports to files; finds the folders from which modules are imported."""

from __future__ import annotations

import ast
import posixpath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SUFFIX = ".py"
ENDS = (SUFFIX, f"/__init__{SUFFIX}")
"""What follows the path of a module, if it is a file and if it is a package."""


def without_suffix(path: str) -> str:
    """The path of a module without its ending; that of a package is its folder."""
    return path.removesuffix(SUFFIX).removesuffix("/__init__")


def dotted_name(path: str) -> str:
    """The dotted name by which a file is imported from the root of the tree."""
    return without_suffix(path).replace("/", ".")


def files_of_module(module: str, importer: str, paths: Iterable[str]) -> list[str]:
    """The files that a module's name may mean in the importing file.

    The folders in which names are looked up are configured elsewhere, so the end of a path decides. If
    exactly one of the files lies beside the importing file, it is the only one.
    """
    if (place := relative_place(module, importer)) is not None:
        places = {posixpath.join("/", place).rstrip("/") + end for end in ENDS}
        return [path for path in paths if f"/{path}" in places]
    tail, beside = module.replace(".", "/"), posixpath.dirname(importer)
    if not tail:
        return []
    ends = tuple(f"/{tail}{end}" for end in ENDS)
    files = [path for path in paths if f"/{path}".endswith(ends) and path != importer]
    near = [path for path in files if posixpath.dirname(path) == beside]
    return near if len(near) == 1 else files


def relative_place(module: str, importer: str) -> str | None:
    """The path, without an ending, that a relative import means; None for any other import."""
    bare = module.lstrip(".")
    folder = importer
    for _ in range(len(module) - len(bare)):
        folder = posixpath.dirname(folder)
    return None if bare == module else posixpath.join(folder, bare.replace(".", "/")).rstrip("/")


def import_roots(paths: Iterable[str]) -> tuple[str, ...]:
    """The folders from which modules may be imported: that of each outermost package, and all above it."""
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


def source_of(node: ast.ImportFrom) -> str:
    """The module as the text writes it, a relative one with its dots."""
    return "." * node.level + (node.module or "")


def imported_names(node: ast.Import | ast.ImportFrom, module: str | None = None) -> dict[str, str]:
    """Maps each name that an import binds to its dotted meaning. `module`: the resolved module, if known.

    A star is mapped under its own dotted name, since the names that it binds are not in the text.
    """
    if isinstance(node, ast.Import):
        tops = ((alias, alias.name.partition(".")[0]) for alias in node.names)
        return {alias.asname or top: alias.name if alias.asname else top for alias, top in tops}
    base = source_of(node) if module is None else module
    dotted = {alias: f"{base}.{alias.name}" if base.strip(".") else base + alias.name for alias in node.names}
    return {name if alias.name == "*" else alias.asname or alias.name: name for alias, name in dotted.items()}


def resolve_import(node: ast.ImportFrom, package: list[str]) -> str:
    if not node.level:
        return node.module or ""
    above = package[: len(package) - node.level + 1]
    return ".".join([*above, *filter(None, [node.module])])


def module_of(path: str) -> str:
    """The dotted name of a module from the source root; that of a package ends in `__init__`."""
    return path.removesuffix(".py").removeprefix("src/").replace("/", ".")


def package_of(path: str) -> list[str]:
    return module_of(path).split(".")[:-1]
