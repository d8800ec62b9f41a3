"""Separates the tests in a source file from the source around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from verdigris.languages.registry import holds_tests, is_mixed, reader_of, same_oracle_part
from verdigris.storage.project import bytes_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdigris.core.paths import Change
    from verdigris.storage.project import Project

Read: TypeAlias = Callable[[str], bytes | None]

_DEEP = 16
"""Modules within modules, each in a file of its own."""


def at(project: Project, tree: str) -> Read:
    return lambda path: project.workspace.read(tree, path)


def on_disk(project: Project) -> Read:
    return lambda path: bytes_of(project, path)


def only_for_tests(path: str, read: Read, deep: int = _DEEP) -> bool:
    """Whether the file holds a module that another declares for tests alone."""
    regions = reader_of(path).test_regions()
    for parent in regions.above(path) if regions is not None and deep else ():
        data = read(parent)
        if regions is None or data is None or regions.module_of(path).encode() not in data:
            continue
        if regions.module_of(path) in regions.modules_for_tests(data):
            return True
        if only_for_tests(parent, read, deep - 1):
            return True
    return False


def test_text(path: str, data: bytes, read: Read) -> bytes:
    """In its own lines; nothing where there is none."""
    regions = reader_of(path).test_regions()
    return data if regions is None or only_for_tests(path, read) else regions.only_tests(data)


def test_texts(project: Project, tree: str, paths: Iterable[str]) -> dict[str, str]:
    """Those of `paths` that the tree has; of source, the tests in it alone."""
    read = at(project, tree)
    found: dict[str, str] = {}
    for path, data in project.workspace.read_many(tree, paths).items():
        if data is not None:
            among = holds_tests(path, project.classify(path))
            text = test_text(path, data, read) if among else data
            found[path] = text.decode("utf-8", "surrogateescape")
    return found


def parts_differ(project: Project, change: Change, old: str, new: str) -> tuple[bool, bool]:
    """For a file that is partly oracle: whether that part differs, and whether the rest does."""
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
