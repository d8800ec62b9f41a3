"""What a Python text imports, and which files of a project that leads to."""

from __future__ import annotations

import ast
import posixpath
import sys
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING

from verdigris.core.paths import import_roots
from verdigris.languages.findings import Imported
from verdigris.languages.folders import first_known
from verdigris.languages.python.concerns.names import imported_from
from verdigris.languages.python.stubs.origins import Origins, imports
from verdigris.languages.python.syntax import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.languages.protocol import Importable

MODULES = (".py", ".pyi", ".pyc", ".so", ".pyd", ".pyx")
_CODE = (".py", ".pyi", ".pyx")


def read_imports(text: str) -> tuple[Imported, ...]:
    tree = _tree(text)
    return () if tree is None else imports(tree)


def decorators(text: str) -> tuple[Imported, ...]:
    """The modules that decorators come from."""
    tree = _tree(text)
    if tree is None:
        return ()
    origins = Origins.of(tree)
    decorators = (one for node in ast.walk(tree) for one in getattr(node, "decorator_list", ()))
    bare = (one.func if isinstance(one, ast.Call) else one for one in decorators)
    named = ((one.lineno, origins.origin(one)) for one in bare)
    return tuple(Imported(line, name.rpartition(".")[0]) for line, name in named if "." in name)


def _tree(text: str) -> ast.Module | None:
    try:
        return parse(text)
    except SyntaxError:
        return None


def import_targets(path: str, one: Imported, files: Importable) -> Iterator[str]:
    """The files of the tree that it runs: the module, and what is taken from it if that is one too."""
    asked = [one.module, f"{one.module.rstrip('.')}.{one.name}" if one.name else one.module]
    if one.name and not one.module.strip("."):
        asked = [one.module, one.module + one.name]
    for module in dict.fromkeys(asked):
        yield from _module(path, module, files)


def _module(path: str, module: str, files: Importable) -> Iterator[str]:
    bare = module.lstrip(".")
    name = bare.replace(".", "/")
    if level := len(module) - len(bare):
        folder = path
        for _ in range(level):
            folder = posixpath.dirname(folder)
        yield from _at(posixpath.join(folder, name), files)
        return
    found = [at for root in files.roots for at in _at(posixpath.join(root, name), files)]
    if not found and bare.partition(".")[0] not in sys.stdlib_module_names:
        # A runner may put any folder on the path.
        ends = tuple(f"/{name}{end}" for end in (".py", "/__init__.py"))
        found = [at for at in files.paths if f"/{at}".endswith(ends)]
    yield from found


def _at(place: str, files: Importable) -> Iterator[str]:
    for stem in (place, posixpath.join(place, "__init__")):
        yield from files.stems.get(stem, ())


def imported_files(path: str, text: str, files: frozenset[str]) -> Iterator[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    folders = _import_folders(files)
    for node in ast.walk(tree):
        for module in _modules(node, path):
            names = module.replace(".", "/")
            places = (posixpath.join(folder, names) for folder in folders)
            yield from first_known((f"{at}{end}" for at in places for end in (".py", "/__init__.py")), files)


@lru_cache(maxsize=4)
def _import_folders(files: frozenset[str]) -> tuple[str, ...]:
    """The deepest first."""
    roots = import_roots(name for name in files if name.endswith(_CODE))
    return tuple(sorted(roots, key=lambda root: (-len(root), root)))


def _modules(node: ast.AST, path: str) -> Iterator[str]:
    """Dotted names: a name that is imported from a package may be a module of it."""
    match node:
        case ast.Import(names=aliases):
            yield from (alias.name for alias in aliases)
        case ast.ImportFrom(names=aliases):
            package = posixpath.dirname(path).split("/") if posixpath.dirname(path) else []
            base = imported_from(node, package)
            yield from filter(None, [base])
            yield from (f"{base}.{alias.name}".lstrip(".") for alias in aliases)
