"""Which files of the project a file imports, by reading it: Python by its syntax, others by their lines."""

from __future__ import annotations

import ast
import posixpath
import re
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING

from verdigris.core.languages import NODE, PYTHON, SUFFIXES, language_of
from verdigris.core.loading import import_roots
from verdigris.languages.python.concerns.concerns_scope import imported_from

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NODE = re.compile(r"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*["'](\.[^"'\n]*)["']""")
_RUST_MOD = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(?:r#)?(\w+)\s*;", re.MULTILINE)
_RUST_USE = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+(?:::)?((?:\w+::)*\w+)", re.MULTILINE)
_RUST_LIBRARIES = frozenset({"std", "core", "alloc", "self"})


def imported(path: str, text: str, files: frozenset[str]) -> tuple[str, ...]:
    """In the order of the text, without the file itself; what is no file of the project is left out."""
    match language_of(path):
        case "python":
            found = _python(path, text, files)
        case "node":
            found = _node(path, text, files)
        case "rust":
            found = _rust(path, text, files)
        case _:
            found = iter(())
    return tuple(dict.fromkeys(name for name in found if name != path))


def _first(candidates: Iterable[str], files: frozenset[str]) -> Iterator[str]:
    found = next((name for name in candidates if name in files), None)
    if found is not None:
        yield found


# -- Python -----------------------------------------------------------------------------------


def _python(path: str, text: str, files: frozenset[str]) -> Iterator[str]:
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
            yield from _first((f"{at}{end}" for at in places for end in (".py", "/__init__.py")), files)


@lru_cache(maxsize=4)
def _import_folders(files: frozenset[str]) -> tuple[str, ...]:
    """The deepest first."""
    roots = import_roots(name for name in files if language_of(name) == PYTHON)
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


# -- JavaScript and TypeScript ----------------------------------------------------------------


def _node(path: str, text: str, files: frozenset[str]) -> Iterator[str]:
    folder = posixpath.dirname(path)
    for name in _NODE.findall(text):
        at = posixpath.normpath(posixpath.join(folder, name))
        stem, dot = posixpath.splitext(at)
        # TypeScript names the file that will be made of the one it means.
        meant = [stem] if dot in SUFFIXES[NODE] else []
        tried = [base + end for base in (*meant, at) for end in SUFFIXES[NODE]]
        yield from _first((at, *tried, *(f"{at}/index{end}" for end in SUFFIXES[NODE])), files)


# -- Rust -------------------------------------------------------------------------------------


def _rust(path: str, text: str, files: frozenset[str]) -> Iterator[str]:
    folder, name = posixpath.split(path)
    own = folder if name in {"lib.rs", "main.rs", "mod.rs"} else path.removesuffix(".rs")
    for module in _RUST_MOD.findall(text):
        tried = (f"{at}/{module}{end}" for at in (own, folder) for end in (".rs", "/mod.rs"))
        yield from _first((posixpath.normpath(each) for each in tried), files)
    source = _crate_source(folder, files)
    for use in _RUST_USE.findall(text):
        top, *parts = use.split("::")
        if top in _RUST_LIBRARIES:
            continue
        if top != "super":
            yield from _first((f"{source}/lib.rs", f"{source}/main.rs"), files)
        yield from _rust_parts(folder if top == "super" else source, parts, files)


def _rust_parts(at: str, parts: list[str], files: frozenset[str]) -> Iterator[str]:
    for part in parts:
        at = posixpath.join(at, part)
        yield from _first((f"{at}.rs", f"{at}/mod.rs"), files)


def _crate_source(folder: str, files: frozenset[str]) -> str:
    """The `src` folder of the crate that a file belongs to."""
    at = folder
    while at and f"{at}/Cargo.toml" not in files:
        at = posixpath.dirname(at)
    return posixpath.join(at, "src")
