"""Reads a change of source: what is work, what only stubs, comments and layout, and which part is tests.

A person may reformat thousands of files at once, and each command and hook asks anew. Files are read in
chunks, two versions with one meaning are remembered by their blobs, and whoever needs a few findings, or has
little time, gets no more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from verdigris.core.actions import Unclaimed
from verdigris.core.paths import Change, PathClass
from verdigris.core.value import value
from verdigris.languages.findings import StubFinding
from verdigris.languages.registry import (
    beyond_stubs,
    holds_tests,
    is_mixed,
    is_same_tree,
    reader_of,
    same_oracle_part,
)
from verdigris.storage.project import Project, bytes_of

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.languages.protocol import Language


CHUNK = 200
CONFLICT = b"<<<<<<< "
"""What git writes into a file that it could not merge."""
REMEMBERED = "same-meaning"
WORTH_REMEMBERING = 20
"""So many new ones; fewer are compared again in no time."""
Read: TypeAlias = Callable[[str], bytes | None]

_DEEP = 16
"""Modules within modules, each in a file of its own."""


@value
class Edits:
    found: tuple[Unclaimed, ...]
    unread: tuple[str, ...] = ()
    """Paths for which there was no time, or which were no longer needed."""


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
    edits: list[Unclaimed] = []
    read = 0
    for finding in _compare_changes(project, unknown, tree, memory):
        read += 1
        if finding is not None:
            edits.append(finding)
        late = ends is not None and time.monotonic() > ends
        if late or (limit is not None and len(edits) >= limit):
            break
    memory.keep()
    return Edits(tuple(edits), tuple(change.path for change in unknown[read:]))


def _compare_changes(
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


@value
class _ImportTargets:
    """The files of the tree that an import could lead to, with their classes."""

    classes: Mapping[str, PathClass]
    roots: tuple[str, ...]
    stems: Mapping[str, tuple[str, ...]]
    """By path up to the first dot of its name."""

    @property
    def paths(self) -> Collection[str]:
        return self.classes.keys()

    def fault(self, at: str) -> str | None:
        cls = self.classes[at]
        if cls is PathClass.SOURCE or reader_of(at).imports.is_declaration(at):
            return None
        return (
            f"it imports {at}, which is of class {cls}: a stub imports source, the standard library, packages"
        )


def more_than_stubs(
    project: Project, path: str, before: bytes | None, after: bytes, tree: str | None = None
) -> StubFinding | None:
    """Adds to `beyond_stubs` what the stubs import; `tree`: where those files are, else the worktree."""
    finding = beyond_stubs(path, before, after)
    if finding is not None:
        return finding
    language = reader_of(path)
    old = {(imported.module, imported.name) for imported in language.imports.read(path, before or b"")}
    fresh = [new for new in language.imports.read(path, after) if (new.module, new.name) not in old]
    decorated = language.imports.decorators(path, after)
    if not fresh and not decorated:
        return None
    files = _files(project, tree or project.workspace.snapshot(), language)
    for imported in fresh:
        for at in language.imports.targets(path, imported, files):
            if (fault := files.fault(at)) is not None:
                return StubFinding(imported.line, fault)
    decorated_by = {imported.module for imported in language.imports.decorators(path, before or b"")}
    for imported in decorated:
        is_new = imported.module not in decorated_by
        if is_new and any(True for _ in language.imports.targets(path, imported, files)):
            why = f"the decorator is of `{imported.module}`, which is this project's own, and may do work"
            return StubFinding(imported.line, why)
    return None


def _files(project: Project, tree: str, language: Language) -> _ImportTargets:
    paths = (entry.path for entry in project.workspace.files(tree))
    classes = {path: project.classify(path) for path in paths if language.imports.is_importable(path)}
    source = (path for path, cls in classes.items() if cls is PathClass.SOURCE)
    stems: dict[str, tuple[str, ...]] = {}
    for path in classes:
        folder, slash, name = path.rpartition("/")
        stem = folder + slash + name.partition(".")[0]
        stems[stem] = (*stems.get(stem, ()), path)
    return _ImportTargets(classes, tuple(dict.fromkeys(("", *language.imports.roots(source)))), stems)


def imported_source(project: Project, tree: str, paths: Iterable[str]) -> Iterator[frozenset[str]]:
    """The source files that each of the paths imports by itself."""
    listed: dict[Language, _ImportTargets] = {}
    for path in paths:
        language = reader_of(path)
        files = listed.get(language) or listed.setdefault(language, _files(project, tree, language))
        data = project.workspace.read(tree, path) or b""
        imports = language.imports.read(path, data)
        targets = (at for each in imports for at in language.imports.targets(path, each, files))
        yield frozenset(at for at in targets if files.classes[at] is PathClass.SOURCE)


def at(project: Project, tree: str) -> Read:
    return lambda path: project.workspace.read(tree, path)


def on_disk(project: Project) -> Read:
    return lambda path: bytes_of(project, path)


def only_for_tests(path: str, read: Read, deep: int = _DEEP) -> bool:
    """Whether the file holds a module that another declares for tests alone."""
    regions = reader_of(path).test_regions()
    for parent in regions.declaring_files(path) if regions is not None and deep else ():
        data = read(parent)
        if regions is None or data is None or regions.module_of(path).encode() not in data:
            continue
        if regions.module_of(path) in regions.modules_for_tests(data):
            return True
        if only_for_tests(parent, read, deep - 1):
            return True
    return False


def test_text(path: str, data: bytes, read: Read) -> bytes:
    """Returns the tests of a file, each in its own lines; nothing where there are none."""
    regions = reader_of(path).test_regions()
    return data if regions is None or only_for_tests(path, read) else regions.only_tests(data)


def test_texts(project: Project, tree: str, paths: Iterable[str]) -> dict[str, str]:
    """Those of `paths` that the tree has; of source, the tests in it alone."""
    read = at(project, tree)
    texts: dict[str, str] = {}
    for path, data in project.workspace.read_many(tree, paths).items():
        if data is not None:
            among = holds_tests(path, project.classify(path))
            text = test_text(path, data, read) if among else data
            texts[path] = text.decode("utf-8", "surrogateescape")
    return texts


def parts_differ(project: Project, change: Change, old: str, new: str) -> tuple[bool, bool]:
    """Says of a file that is partly oracle whether that part differs, and whether the rest does."""
    cls = project.classify(change.path)
    if not is_mixed(change.path, cls):
        return False, True
    before, after = (project.workspace.read(tree, change.path) for tree in (old, new))
    if not holds_tests(change.path, cls):
        return not same_oracle_part(change.path, before, after), True
    # A file of source does not become the tests' by what was written elsewhere meanwhile.
    if only_for_tests(change.path, at(project, new if before is None else old)):
        return True, False
    if same_oracle_part(change.path, before, after):
        return False, True
    regions = reader_of(change.path).test_regions()
    if regions is None:
        return True, True
    one, two = (regions.source_part(data or b"") for data in (before, after))
    return True, before is None or after is None or one != two


def home_of(project: Project, home: str, tree: str, paths: Iterable[str], *, source: bool = False) -> str:
    """`home`, where source keeps what became of it in `tree` and only its tests are as they were.

    `source`: the other way round.
    """
    contents: dict[str, tuple[str, bytes] | None] = {}
    for entry in project.workspace.files(tree):
        if entry.path not in paths or not holds_tests(entry.path, project.classify(entry.path)):
            continue
        regions = reader_of(entry.path).test_regions()
        frozen, now = (project.workspace.read(at, entry.path) for at in (home, tree))
        if regions is None or now is None or (source and frozen is None):
            continue
        if frozen is None:
            mended: bytes | None = regions.without_tests(now)
        else:
            mended = regions.with_tests_of(*((now, frozen) if source else (frozen, now)))
        if mended:
            contents[entry.path] = (entry.mode, mended)
    return project.workspace.compose(home, contents)
