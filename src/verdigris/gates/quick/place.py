"""Finds the worktree of a folder as `storage.repository` does; a doubt is an exception."""

from __future__ import annotations

import posix

from verdigris.storage.log.light import read

_TYPE, _FOLDER, _FILE, _LINK = 0o170000, 0o040000, 0o100000, 0o120000


class NotPlain(Exception):
    """A quick look does not suffice to decide."""


class WorktreePlace:
    __slots__ = ("common", "git_dir", "private", "root")

    def __init__(self, root: str, git_dir: str, common: str, worktree: str) -> None:
        self.root = root
        self.git_dir = git_dir
        self.common = common
        self.private = f"{common}/tdd/worktrees/{worktree}"


def find(folder: str) -> WorktreePlace:
    walk(folder)
    at = folder.rstrip("/")
    while at:
        kind = _kind(f"{at}/.git")
        if _kind(f"{at}/HEAD") or at.endswith("/.git"):
            raise NotPlain
        if kind == _FOLDER:
            return WorktreePlace(at, f"{at}/.git", f"{at}/.git", "main")
        if kind == _FILE:
            return _find_linked(at)
        if kind:
            raise NotPlain
        at = at.rpartition("/")[0]
    raise NotPlain


def _find_linked(root: str) -> WorktreePlace:
    """Reads the link as `git worktree add` makes it; the fallback reads other forms."""
    git_dir = _text(f"{root}/.git").removeprefix("gitdir: ")
    common, _, name = git_dir.rpartition("/worktrees/")
    if not common.startswith("/") or "/" in name or _text(f"{git_dir}/commondir") != "../..":
        raise NotPlain
    walk(git_dir)
    return WorktreePlace(root, git_dir, common, "main:linked" if name == "main" else name)


def walk(path: str) -> tuple[str, list[str], posix.stat_result | None]:
    """The part of an absolute path that exists, the rest of it, and what that part is; no link anywhere."""
    parts = [part for part in path.split("/") if part and part != "."]
    if not path.startswith("/") or ".." in parts or "\0" in path:
        raise NotPlain
    at, found = "", None
    for index, part in enumerate(parts):
        try:
            found = posix.lstat(f"{at}/{part}")
        except FileNotFoundError:
            return at, parts[index:], found
        if found.st_mode & _TYPE == _LINK:
            raise NotPlain
        at = f"{at}/{part}"
    return at, [], found


def is_folder(found: posix.stat_result) -> bool:
    return found.st_mode & _TYPE == _FOLDER


def is_lone_file(found: posix.stat_result) -> bool:
    """A plain file that has no second name."""
    return found.st_mode & _TYPE == _FILE and found.st_nlink == 1


def path_below(root: str, path: str) -> str | None:
    """The path relative to the root; None if it lies outside."""
    return path[len(root) + 1 :] if path.startswith(root + "/") else None


def check_way(root: str, path: str, missing: list[str]) -> None:
    """NotPlain where a name below the root may have other spellings, or another repository begins there."""
    at = root
    for part in path[len(root) + 1 :].split("/") if path != root else ():
        _check_name(at, part)
        at = f"{at}/{part}"
        if exists(f"{at}/.git"):
            raise NotPlain
    if missing:
        if not all(part.isascii() for part in missing):
            raise NotPlain
        _check_listed(at)


def _check_name(folder: str, name: str) -> None:
    if not name.isascii():
        raise NotPlain
    other = name.swapcase()
    if other != name and _is_same(f"{folder}/{name}", f"{folder}/{other}"):
        raise NotPlain


def _check_listed(folder: str) -> None:
    """Tried on what a folder holds, or on itself."""
    with posix.scandir(folder) as entries:
        for entry in entries:
            if entry.name.isascii() and entry.name.swapcase() != entry.name:
                return _check_name(folder, entry.name)
    parent, _, name = folder.rpartition("/")
    return _check_name(parent, name)


def _is_same(one: str, other: str) -> bool:
    try:
        a, b = posix.lstat(one), posix.lstat(other)
    except FileNotFoundError:
        return False
    return (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)


def exists(path: str) -> bool:
    return _kind(path) != 0


def _kind(path: str) -> int:
    try:
        return posix.lstat(path).st_mode & _TYPE
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _text(path: str) -> str:
    return read(path).decode("utf-8").strip("\n")
