"""What a stub may import: what existed, or is a stub itself; nothing that may be written freely in red.

An import runs the file that it leads to. A file of no class, or a test, would bring behaviour into source
before any test is red.
"""

from __future__ import annotations

import ast
import posixpath
import sys
from typing import TYPE_CHECKING

from verdigris.core.languages import GO, NODE, PYTHON, language_of
from verdigris.core.loading import import_roots
from verdigris.core.pathclass import PathClass
from verdigris.core.value import value
from verdigris.languages.python.parsed import parse
from verdigris.languages.python.stuborigins import Imported, Origins, imports
from verdigris.languages.python.stubs import StubFinding
from verdigris.languages.reading import beyond_stubs, is_read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from verdigris.storage.project import Project

_MODULES = (".py", ".pyi", ".pyc", ".so", ".pyd", ".pyx")


@value
class _Files:
    """Those of the tree that an import could lead to, with their classes."""

    classes: Mapping[str, PathClass]
    roots: tuple[str, ...]
    stems: Mapping[str, tuple[str, ...]]
    """By path up to the first dot of its name."""

    def fault(self, at: str) -> str | None:
        cls = self.classes[at]
        if cls is PathClass.SOURCE or at.endswith(".pyi"):
            return None
        return (
            f"it imports {at}, which is of class {cls}: a stub imports source, the standard library, packages"
        )


def more_than_stubs(
    project: Project, path: str, before: bytes | None, after: bytes, tree: str | None = None
) -> StubFinding | None:
    """As `beyond_stubs`, and what the stubs import; `tree`: where those files are, else as they lie."""
    found = beyond_stubs(path, before, after)
    if found is not None:
        return found
    old = {(one.module, one.name) for one in _imported(path, before or b"")}
    fresh = [one for one in _imported(path, after) if (one.module, one.name) not in old]
    decorated = _decorating(path, after)
    if not fresh and not decorated:
        return None
    files = _files(project, tree or project.workspace.snapshot(), language_of(path))
    for one in fresh:
        for at in _led_to(path, one, files):
            if (fault := files.fault(at)) is not None:
                return StubFinding(one.line, fault)
    known = {one.module for one in _decorating(path, before or b"")}
    for one in decorated:
        if one.module not in known and any(True for _ in _led_to(path, one, files)):
            why = f"the decorator comes from `{one.module}`, which is this project's own, and may do work"
            return StubFinding(one.line, why)
    return None


def _files(project: Project, tree: str, language: str | None) -> _Files:
    paths = (entry.path for entry in project.workspace.files(tree))
    ours = _MODULES if language == PYTHON else ("",)
    classes = {path: project.classify(path) for path in paths if path.endswith(ours)}
    source = (path for path, cls in classes.items() if cls is PathClass.SOURCE)
    stems: dict[str, tuple[str, ...]] = {}
    for path in classes:
        folder, slash, name = path.rpartition("/")
        stem = folder + slash + name.partition(".")[0]
        stems[stem] = (*stems.get(stem, ()), path)
    return _Files(classes, tuple(dict.fromkeys(("", *import_roots(source)))), stems)


def _imported(path: str, data: bytes) -> tuple[Imported, ...]:
    match language_of(path):
        case "python" | None:
            tree = _tree(data)
            return () if tree is None else imports(tree)
        case language if is_read(path) and language in {NODE, GO}:
            from verdigris.languages.grammar.imports import imported

            return imported(path, data)
        case _:
            return ()


def _tree(data: bytes) -> ast.Module | None:
    try:
        return parse(data.decode("utf-8", "surrogateescape"))
    except SyntaxError:
        return None


def _decorating(path: str, data: bytes) -> tuple[Imported, ...]:
    """The modules that decorators of Python come from."""
    tree = _tree(data) if language_of(path) in {PYTHON, None} else None
    if tree is None:
        return ()
    origins = Origins.of(tree)
    decorators = (one for node in ast.walk(tree) for one in getattr(node, "decorator_list", ()))
    bare = (one.func if isinstance(one, ast.Call) else one for one in decorators)
    named = ((one.lineno, origins.origin(one)) for one in bare)
    return tuple(Imported(line, name.rpartition(".")[0]) for line, name in named if "." in name)


def _led_to(path: str, one: Imported, files: _Files) -> Iterator[str]:
    """The files of the tree that it runs: the module, and what is taken from it if that is one too."""
    match language_of(path):
        case language if language == NODE:
            yield from _relative(path, one.module, files)
        case language if language == GO:
            yield from _package(one.module, files)
        case _:
            asked = [one.module, f"{one.module.rstrip('.')}.{one.name}" if one.name else one.module]
            if one.name and not one.module.strip("."):
                asked = [one.module, one.module + one.name]
            for module in dict.fromkeys(asked):
                yield from _module(path, module, files)


def _module(path: str, module: str, files: _Files) -> Iterator[str]:
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
        found = [at for at in files.classes if f"/{at}".endswith(ends)]
    yield from found


def _at(place: str, files: _Files) -> Iterator[str]:
    for stem in (place, posixpath.join(place, "__init__")):
        yield from files.stems.get(stem, ())


def _relative(path: str, module: str, files: _Files) -> Iterator[str]:
    """As Node and bundlers look: the file, or one of its name with an ending, or an index."""
    if not module.startswith("."):
        return
    place = posixpath.normpath(posixpath.join(posixpath.dirname(path), module))
    if place in files.classes:
        yield place
        return
    folder, slash, name = place.rpartition("/")
    yield from files.stems.get(folder + slash + name.partition(".")[0], ())
    yield from files.stems.get(f"{place}/index", ())


def _package(module: str, files: _Files) -> Iterator[str]:
    """Go names a folder, behind the name of its module."""
    for at in files.classes:
        folder = posixpath.dirname(at)
        if (
            at.endswith(".go")
            and not at.endswith("_test.go")
            and folder
            and f"/{module}".endswith(f"/{folder}")
        ):
            yield at
