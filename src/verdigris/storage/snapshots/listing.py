"""Makes the tree of a small worktree in this process, from the last snapshot or from nothing.

Every file is listed with its stat. A snapshot depends on this listing alone, so equal listings mean equal
trees. The next tree is the last one with the files that changed, came or went. Files without a class may be
ignored: git is asked which of them are. Where more is in doubt (a `.gitignore` that changed, a link, a folder
that becomes a file), git makes the whole tree. The last listing is kept beside the private index, and is
trusted as that is.
"""

# `os` calls on `str` instead of pathlib, which is slower:
# ruff: noqa: PTH123

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING

from verdigris import __version__
from verdigris.core.paths import CACHES, EXECUTABLE, FILE, PathClass, class_of_folder
from verdigris.core.value import value
from verdigris.storage.snapshots.index import SECOND, let_the_clock_tick
from verdigris.storage.snapshots.objects import LARGE, Elsewhere, Objects
from verdigris.storage.snapshots.scan import LARGE_OTHER, NAMES, Installed, find_ignored

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from verdigris.storage.git import Git

LIMIT = 1000
"""The most entries. From about two thousand on, git is faster."""
COARSE_STAMP = 1_000_000
"""Nanoseconds. A file system whose stamps are coarser may give two contents one stamp."""
_FILE = "listing.json"
_FORMAT = [2, __version__]
"""Another version of ours may have other rules for the contents of a snapshot: it starts again."""
_NAMES, _CACHES = frozenset(NAMES), frozenset(CACHES)
_IGNORING = ".gitignore"
"""A change of it may bring or remove any file; the first snapshot has none to remove."""

Listing = dict[str, str]
"""By path: the class and the stat of a file or link, in one text, which is quick to keep and to compare.

For a folder only whether all its contents are left out.
"""
_FOLDER, _LEFT_OUT = "folder", "left-out"


def list_worktree(root: str, keep: Callable[[str], PathClass], now: int) -> Listing | None:
    """Lists every entry of the worktree by path; None if there are too many, or if a stat is not enough.

    `now`: nanoseconds since the epoch, of a moment before the call.
    """
    installed = Installed(root, keep)
    found: Listing = {}
    waiting = [""]
    young = now // SECOND - 1
    try:
        while waiting:
            folder = waiting.pop()
            for entry in _entries(f"{root}/{folder}", top=not folder):
                name = entry.name
                path = f"{folder}{name}"
                if len(found) == LIMIT or name.lower() == ".git":
                    return None
                if entry.is_dir(follow_symlinks=False):
                    left_out = installed.leaves_out(path)
                    found[path] = _LEFT_OUT if left_out else _FOLDER
                    if not left_out:
                        waiting.append(f"{path}/")
                    continue
                state = entry.stat(follow_symlinks=False)
                if name in _NAMES or _may_share_stamp(state.st_ctime_ns, young):
                    return None
                found[path] = f"{_class(path, state, keep)} {_text_of(state)}"
    except OSError:
        return None
    return found


def _text_of(state: os.stat_result) -> str:
    return f"{state.st_ctime_ns} {state.st_mtime_ns} {state.st_size} {state.st_ino} {state.st_mode}"


def inodes(found: Listing) -> set[int]:
    """The inodes of the files and links that are listed."""
    return {int(seen.rsplit(" ", 2)[1]) for seen in found.values() if " " in seen}


def _entries(folder: str, *, top: bool) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return [entry for entry in entries if not top or entry.name != ".git"]


def _may_share_stamp(ctime: int, young: int) -> bool:
    """Whether the next write may get the same stamp; `young`: the first second that counts as now."""
    return ctime % COARSE_STAMP == 0 and ctime // SECOND >= young


def _class(path: str, state: os.stat_result, keep: Callable[[str], PathClass]) -> PathClass:
    own = keep(path)
    if own == PathClass.OTHER and stat.S_ISLNK(state.st_mode):
        return class_of_folder(path, keep)
    return own


@value
class Known:
    """A listing, and the tree of the snapshot that was made after it."""

    listing: Listing
    tree: str


def load(private: Path) -> Known | None:
    try:
        found = json.loads((private / _FILE).read_bytes())
        if found["format"] != _FORMAT:
            return None
        entries = {str(path): str(seen) for path, seen in found["entries"].items()}
        return Known(entries, str(found["tree"]))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def save(private: Path, known: Known) -> None:
    """Keeps the listing. It only saves time, so an error of the disk is ignored."""
    draft = private / f"{_FILE}.new"
    whole = {"format": _FORMAT, "tree": known.tree, "entries": known.listing}
    try:
        draft.write_text(json.dumps(whole), "ascii")
        draft.replace(private / _FILE)
    except OSError:
        return


def next_tree(git: Git, known: Known | None, listing: Listing) -> str | None:
    """Makes the tree of this listing; None if git has to make it.

    `known`: the last snapshot. None if there is none: then the tree is made from nothing.
    """
    root, objects = os.fspath(git.root), Objects(git.git_dir)
    try:
        base = objects.write_empty_tree() if known is None else objects.tree_of(known.tree)
        old = {} if known is None else known.listing
        if listing == old:
            return base
        edits: dict[str, str | None] = {}
        undecided: dict[str, str] = {}
        for path in _find_differing(old, listing):
            seen = listing.get(path)
            cls = (seen or old[path]).partition(" ")[0]
            if known is None and path.rpartition("/")[2] == _IGNORING:
                edits[path] = seen
                continue
            within = objects.entry_at(base, path) is not None
            if not _is_edited(path, cls, seen, within=within):
                continue
            if cls == PathClass.OTHER and seen is not None and not within:
                undecided[path] = seen
            else:
                edits[path] = seen
        ignored = find_ignored(git, undecided)
        edits |= {path: seen for path, seen in undecided.items() if path not in ignored}
        return objects.write_tree(
            base,
            {
                path: None if seen is None else _store_file(objects, f"{root}/{path}", seen)
                for path, seen in edits.items()
            },
        )
    except (Elsewhere, OSError):
        return None


def _find_differing(old: Listing, new: Listing) -> list[str]:
    """The files that are changed, new or gone; raises Elsewhere if anything but such files changed."""
    found = [path for path, seen in new.items() if old.get(path) != seen]
    found += [path for path in old if path not in new]
    files = []
    for path in found:
        sides = [side[path].split(" ") for side in (old, new) if path in side]
        if len({side[0] for side in sides}) > 1:
            raise Elsewhere
        if len(sides[0]) > 1:
            if not all(stat.S_ISREG(int(side[-1])) for side in sides):
                raise Elsewhere
            files.append(path)
    return files


def _is_edited(path: str, cls: str, seen: str | None, *, within: bool) -> bool:
    """Whether the path changes in the next tree, unless it is ignored; raises Elsewhere if git has to decide.

    `seen`: its stat now. `within`: whether the last tree has it.
    """
    parts = path.split("/")
    if cls == PathClass.OTHER and not within and not _CACHES.isdisjoint(parts):
        return False
    if ".git" in path.lower() or not _NAMES.isdisjoint(parts):
        raise Elsewhere
    if seen is None:
        return within
    if cls == PathClass.OTHER and _size(seen) > LARGE_OTHER:
        raise Elsewhere
    return True


def _size(seen: str) -> int:
    return int(seen.split(" ")[3])


def _store_file(objects: Objects, path: str, seen: str) -> tuple[str, str]:
    """Stores a file; raises Elsewhere if its stat changed before or during the reading."""
    _, _, look = seen.partition(" ")
    ctime, mtime, size, _, mode = map(int, look.split(" "))
    if size > LARGE:
        raise Elsewhere
    let_the_clock_tick(max(ctime, mtime))
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(file, "rb") as opened:
        if _text_of(os.fstat(file)) != look:
            raise Elsewhere
        data = opened.read()
    if _text_of(os.lstat(path)) != look:
        raise Elsewhere
    return EXECUTABLE if mode & stat.S_IXUSR else FILE, objects.write_blob(data)
