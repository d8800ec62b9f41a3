"""Resolves a spelling to one canonical path, and finds links that lead out of the worktree.

A link has the class of what it leads to. If that is in the worktree, its real path decides. If it is outside,
or where no snapshot looks, nothing that is read through the link can be frozen or proven. A link that a
person names under `generated` in tdd.yaml may lead anywhere.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from verdigris.core.actions import Deny
from verdigris.core.errors import UserError
from verdigris.core.paths import LINK, Classes, PathClass, class_of_folder, classify
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from verdigris.storage.project import Project
    from verdigris.storage.snapshots.scan import Installed


_ORDER = tuple(PathClass)
LOOKED_AT = 5_000
"""The most files behind one link that are classified; if there are more, the link's name decides."""


class FileIdentity(NamedTuple):
    device: int
    inode: int
    links: int

    def same(self, other: FileIdentity | None) -> bool:
        return other is not None and self[:2] == other[:2]


def _identity(path: str) -> FileIdentity | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return FileIdentity(found.st_dev, found.st_ino, found.st_nlink)


def _names_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries]
    except OSError:
        return []


@value
class Disk:
    """The calls of a file system; tests replace them by those of one that ignores case."""

    realpath: Callable[[str], str] = os.path.realpath
    identity: Callable[[str], FileIdentity | None] = _identity
    listing: Callable[[str], list[str]] = _names_in


DISK = Disk()


@value
class CanonicalPath:
    path: str | None
    """Relative to the root, with `/`; `.` is the root, None is outside."""
    names: tuple[str, ...] = ()
    """Every name below the root that a write through the spelling may change, `path` first."""
    fold_case: bool = False
    """The file system takes other spellings for the same name."""


def canonical(
    root: Path, spelling: str, *, cwd: Path, protected: Iterable[str] = (), disk: Disk = DISK
) -> CanonicalPath:
    """Resolves a spelling, also of a file that does not exist yet.

    Tools differ in two ways, so all readings count: `..` after a link (by text or by the file system), and a
    link at the end (written through, or replaced).
    """
    if not spelling or "\0" in spelling:
        raise UserError(f"{spelling!r} is not a path", hint="name a file below the worktree's root")
    top = disk.realpath(str(root))
    asked = os.path.join(str(cwd), spelling)
    target = disk.realpath(asked)
    lexical = os.path.normpath(asked)
    parent, leaf = os.path.split(lexical)
    readings = (target, disk.realpath(lexical), os.path.join(disk.realpath(parent), leaf))
    found = [_below(top, reading, disk) for reading in dict.fromkeys(readings)]
    names = [name for name, _ in found if name is not None]
    names += _other_links(top, target, found[0][0], protected, disk)
    return CanonicalPath(found[0][0], tuple(dict.fromkeys(names)), any(folds for _, folds in found))


def class_of(
    root: Path,
    spelling: str,
    classes: Classes,
    *,
    cwd: Path,
    protected: Iterable[str] = (),
    disk: Disk = DISK,
) -> tuple[PathClass, str | None]:
    """The class of the most protected name, and that name; None if all is outside the root."""
    found = canonical(root, spelling, cwd=cwd, protected=protected, disk=disk)
    ranked = [(classify(name, classes, fold_case=found.fold_case), name) for name in found.names]
    return min(ranked, key=lambda pair: _ORDER.index(pair[0]), default=(PathClass.OTHER, None))


def _below(top: str, path: str, disk: Disk) -> tuple[str | None, bool]:
    """The path below the root, with the names as the folders list them, and whether case is ignored."""
    parts = _parts_below(top, path, disk)
    if parts is None or not _folds(top, disk):
        return None if parts is None else "/".join(parts) or ".", False
    at, real = top, list[str]()
    for part in parts:
        names = disk.listing(at)
        alike = (name for name in names if _fold(name) == _fold(part))
        real.append(part if part in names else next(alike, part))
        at = f"{at}/{real[-1]}"
    return "/".join(real) or ".", True


def _parts_below(top: str, path: str, disk: Disk) -> list[str] | None:
    prefix = top.rstrip("/") + "/"
    if path == top or path.startswith(prefix):
        return [part for part in path[len(prefix) :].split("/") if part]
    # The root itself may be spelled in another case, or be mounted a second time.
    home, head, tail = disk.identity(top), path, list[str]()
    while home is not None and head not in {"", "/"}:
        if home.same(disk.identity(head)):
            return tail
        head, _, name = head.rpartition("/")
        tail.insert(0, name)
    return None


def _folds(top: str, disk: Disk) -> bool:
    """Whether the worktree's file system takes another case for the same name, as macOS does (ADR 37)."""
    here = disk.identity(f"{top}/.git")
    return here is not None and here.same(disk.identity(f"{top}/.GIT"))


def _fold(name: str) -> str:
    import unicodedata

    return unicodedata.normalize("NFC", name.casefold())


def _other_links(top: str, target: str, path: str | None, protected: Iterable[str], disk: Disk) -> list[str]:
    here = disk.identity(target)
    if here is None or (path is not None and here.links < 2):  # noqa: PLR2004 - two names are the fewest there can be
        return []
    return [name for name in protected if here.same(disk.identity(f"{top}/{name}"))]


@value
class LinkOut:
    path: str
    """Relative to the worktree's root."""
    target: str
    cls: PathClass
    """The most protected class of the files that are read through the link."""


def links_out(project: Project, tree: str) -> tuple[LinkOut, ...]:
    """The links of a snapshot, as they lead now, through which tests, specs or source are read."""
    links = (entry.path for entry in project.workspace.files(tree) if entry.mode == LINK)
    return among(project, links)


def among(project: Project, links: Iterable[str]) -> tuple[LinkOut, ...]:
    from verdigris.storage.snapshots.scan import Installed

    top = os.path.realpath(project.root)
    installed = Installed(top, project.classify)
    found = []
    for path in links:
        target = os.path.realpath(f"{top}/{path}")
        if _is_recorded(target, top, installed):
            continue
        cls = _class_behind(path, target, project.classify)
        if cls is not PathClass.OTHER:
            found.append(LinkOut(path, target, cls))
    return tuple(found)


def refuse(links: tuple[LinkOut, ...]) -> Deny | None:
    """The denial of a claim while such links exist."""
    if not links:
        return None
    return Deny("leads-out", explain(links[0]), remedy(links[0]))


def explain(link: LinkOut) -> str:
    return (
        f"{link.path} is a link that leads out of the worktree, to {link.target}: no snapshot holds the "
        "files there, so a change of them would go unseen."
    )


def remedy(link: LinkOut) -> str:
    return (
        f"put the files themselves at {link.path}; a person may name it under `generated:` in tdd.yaml, but "
        "then no verdict covers those files"
    )


def _is_recorded(target: str, top: str, installed: Installed) -> bool:
    """Whether snapshots include this place."""
    if target == top:
        return True
    if not target.startswith(f"{top}/"):
        return False
    path = target[len(top) + 1 :]
    return path.split("/")[0] != ".git" and not installed.holds(path)


def _class_behind(path: str, target: str, classify: Callable[[str], PathClass]) -> PathClass:
    if not os.path.isdir(target):
        return classify(path)
    from verdigris.languages.folders import walk_tree

    classes = {PathClass.OTHER}
    seen = 0
    for folder, _, names in walk_tree(target):
        prefix = path + folder[len(target) :]
        classes.update(classify(f"{prefix}/{name}") for name in names)
        seen += len(names)
        if seen > LOOKED_AT:
            return class_of_folder(path, classify)
    return min(classes, key=_ORDER.index)
