"""Tells edits of source from stubs, comments and formatting.

A person may reformat thousands of files at once, and each command and hook asks anew. Files are read in
chunks, two versions with one meaning are remembered by their blobs, and whoever needs a few findings, or has
little time, gets no more.
"""

from __future__ import annotations

import ast
import posixpath
import sys
import time
from typing import TYPE_CHECKING

from verdigris.core.actions import Unclaimed
from verdigris.core.languages import GO, NODE, PYTHON, language_of
from verdigris.core.paths import PathClass, import_roots
from verdigris.core.value import value
from verdigris.languages.findings import Imported, StubFinding
from verdigris.languages.python.stub_origins import Origins, imports
from verdigris.languages.python.syntax import parse
from verdigris.languages.registry import beyond_stubs, is_read, is_same_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from verdigris.core.paths import Change
    from verdigris.storage.project import Project


CHUNK = 200
REMEMBERED = "same-meaning"
WORTH_REMEMBERING = 20
"""So many new ones; fewer are compared again in no time."""


@value
class Edits:
    found: tuple[Unclaimed, ...]
    unread: tuple[str, ...] = ()
    """Paths for which there was no time, or which nobody needed any more."""


def find_edits(
    project: Project,
    changes: Sequence[Change],
    tree: str,
    *,
    limit: int | None = None,
    seconds: float | None = None,
) -> Edits:
    """`changes` of source that led to `tree`; `limit`: so many findings are enough."""
    ends = None if seconds is None else time.monotonic() + seconds
    memory = _Memory(project.repo.private / REMEMBERED)
    unknown = [change for change in changes if change not in memory]
    found: list[Unclaimed] = []
    read = 0
    for finding in _compared(project, unknown, tree, memory):
        read += 1
        if finding is not None:
            found.append(finding)
        late = ends is not None and time.monotonic() > ends
        if late or (limit is not None and len(found) >= limit):
            break
    memory.keep()
    return Edits(tuple(found), tuple(change.path for change in unknown[read:]))


def _compared(
    project: Project, changes: Sequence[Change], tree: str, memory: _Memory
) -> Iterator[Unclaimed | None]:
    for start in range(0, len(changes), CHUNK):
        chunk = changes[start : start + CHUNK]
        blobs = [blob for change in chunk for blob in (change.old, change.new) if blob]
        data = dict(zip(blobs, project.workspace.blobs(blobs), strict=True))
        for change in chunk:
            before = data.get(change.old or "")
            after = data.get(change.new or "")
            if after is None:
                yield Unclaimed(change.path, 1, "it was deleted")
            elif before is not None and is_same_tree(change.path, before, after):
                memory.add(change)
                yield None
            else:
                finding = more_than_stubs(project, change.path, before, after, tree)
                yield None if finding is None else Unclaimed(change.path, finding.line, finding.why)


class _Memory:
    """Pairs of blobs with one syntax tree, in a file that may be lost at any time."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._known = frozenset(_lines(file))
        self._new: list[str] = []

    def __contains__(self, change: Change) -> bool:
        return f"{change.old} {change.new}" in self._known

    def add(self, change: Change) -> None:
        self._new.append(f"{change.old} {change.new}")

    def keep(self) -> None:
        if len(self._new) < WORTH_REMEMBERING:
            return
        draft = self._file.with_name(f"{self._file.name}.new")
        draft.write_text("\n".join([*self._known, *self._new]), "ascii")
        draft.replace(self._file)


def _lines(file: Path) -> Iterable[str]:
    try:
        return file.read_text("ascii").splitlines()
    except (OSError, ValueError):
        return ()


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
