"""Makes the tree of a worktree from the last snapshot, or from nothing.

All files that a snapshot may have are listed with class and stat. A snapshot depends on this list alone, so
equal lists mean equal trees. The next tree is the last one with the files that changed, came or went. Git is
asked only which files without a class are ignored. The last list is kept beside the name of its tree.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris import __version__
from verdigris.core.errors import StorageError
from verdigris.core.paths import (
    CACHES,
    ENVIRONMENT_PARTS,
    EXECUTABLE,
    FILE,
    LINK,
    PathClass,
    above,
    class_of_folder,
)
from verdigris.core.value import value
from verdigris.sandbox.notes import recall, remember
from verdigris.storage.calls.open_calls import shared_inodes
from verdigris.storage.git import GitFailed, not_started
from verdigris.storage.snapshots.disk import FOLDER
from verdigris.storage.snapshots.objects import LARGE, Elsewhere, Objects
from verdigris.storage.snapshots.scan import NAMES, Installed, find_ignored, unreadable
from verdigris.storage.snapshots.trees import BlobWriter, Trees

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from verdigris.storage.git import Git

    Listing = dict[str, str]
    """By path: class and stat of a file or link, in one text, which is quick to keep and to compare."""
    Stored = tuple[str, tuple[str, str]]
    """The text of a file in the listing; its mode and the name of its blob."""


LARGE_OTHER = 10 * 1024 * 1024
"""A larger file without a class is left out."""
SECOND = 1_000_000_000
COARSE_STAMP = 1_000_000
"""Nanoseconds. A file system whose stamps are coarser may give two contents one stamp."""
ATTEMPTS = 5
BULK = 1000
"""With this many files or more, their blobs go into packs."""
TICK_LIMIT = 0.05
TICK_STEP = 0.001
COARSE = 5 if sys.platform == "linux" else time.CLOCK_REALTIME
"""The clock of file timestamps: CLOCK_REALTIME_COARSE, which Python does not name."""
_FILE = "listing.json"
_FORMAT = [3, __version__]
"""Another version of ours may have other rules for the contents of a snapshot: it starts again."""
_EXAMINED, _CACHES = frozenset((*NAMES, *ENVIRONMENT_PARTS)), frozenset(CACHES)
_NESTED, _REPLACING = "nested", "replacing"
"""In place of the class: a file without one in a nested repository, which is left out; and a link without one
that is where a folder with classes was, which no `.gitignore` hides."""
_WITHOUT_CLASS = (f"{PathClass.OTHER} ", f"{_NESTED} ")
_DOUBTED = " doubted"
"""Behind the stat of a file that may change without a trace: it is read again next time."""


@value
class Known:
    """A listing, and the tree of the snapshot that was made after it."""

    listing: Listing
    tree: str


NOTHING = Known({}, "")


class ChangedMeanwhile(Exception):
    """A file changed after it was listed."""


def snapshot(git: Git, private: Path, keep: Callable[[str], PathClass], known: Known) -> Known:
    """Makes the tree of the worktree as it is now. `known`: the last snapshot, or NOTHING."""
    stored: dict[str, Stored] = {}
    for _ in range(ATTEMPTS):
        mapped = shared_inodes(str(private))
        began = time.time_ns()
        listing = list_worktree(git, keep, known.listing)
        before = _doubt(known.listing, mapped)
        try:
            if listing == before and _is_there(git, known.tree):
                return known
            made = _NextTree(git, known.tree, before, listing)
            tree = made.write(stored)
        except (ChangedMeanwhile, FileNotFoundError):
            continue
        except (Elsewhere, GitFailed):  # the store lacks objects of the last tree
            if known is NOTHING:
                raise
            known = NOTHING
            continue
        young = [path for path in made.differing if _may_share_stamp(listing[path], began)]
        listing |= {path: listing[path] + _DOUBTED for path in young}
        return Known(_doubt(listing, mapped | shared_inodes(str(private))), tree)
    raise StorageError(
        "files change faster than a snapshot can be made",
        hint="stop what is writing to the worktree, then try again",
    )


def load(private: Path) -> Known:
    noted = recall(private / _FILE)
    if noted.get("format") != _FORMAT:
        return NOTHING
    try:
        return Known({str(path): str(seen) for path, seen in noted["entries"].items()}, str(noted["tree"]))
    except (KeyError, AttributeError):
        return NOTHING


def save(private: Path, known: Known) -> None:
    whole = {"format": _FORMAT, "tree": known.tree, "entries": known.listing}
    remember(private / _FILE, json.dumps(whole).encode())


def _doubt(listing: Listing, inodes: Collection[int]) -> Listing:
    """The listing with the files of these inodes in doubt: processes of agents have them mapped (ADR 37).

    Writing to a page through a mapping changes the timestamp only once, until the page is written to the
    disk. So a file that is mapped now has to be read again next time.
    """
    if not inodes:
        return listing
    return {path: seen + _DOUBTED if _facts(seen)[2] in inodes else seen for path, seen in listing.items()}


def _may_share_stamp(seen: str, began: int) -> bool:
    """Whether the next write may get the same stamp. An old stamp cannot come again."""
    ctime = _facts(seen)[0]
    return ctime % COARSE_STAMP == 0 and ctime // SECOND >= began // SECOND - 1


def let_the_clock_tick(newest: int) -> None:
    """Waits until a write gets a later timestamp than `newest`.

    Otherwise a write of the same size, after the reading but within the same tick, would never be noticed.
    """
    deadline = time.monotonic() + TICK_LIMIT
    while time.clock_gettime_ns(COARSE) <= newest and time.monotonic() < deadline:
        time.sleep(TICK_STEP)


def list_worktree(git: Git, keep: Callable[[str], PathClass], before: Listing) -> Listing:
    """Lists the files and links of the worktree that a snapshot may have. `before`: the last listing."""
    top = os.fspath(git.root)
    installed = Installed(top, keep)
    listing: Listing = {}
    links = []
    waiting = [("", False, False)]
    while waiting:
        folder, in_cache, nested = waiting.pop()
        try:
            with _entries(f"{top}/{folder}") as entries:
                nested = nested or (folder != "" and any(entry.name == ".git" for entry in entries))
                for entry in entries:
                    path = f"{folder}{entry.name}"
                    if _is_left_out(entry, path, installed):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((f"{path}/", in_cache or entry.name in _CACHES, nested))
                        continue
                    state = _look(entry)
                    if state is None or (in_cache and keep(path) is PathClass.OTHER):
                        continue
                    if stat.S_ISLNK(state.st_mode):
                        links.append(path)
                    listing[path] = f"{_class(path, state, keep, nested=nested)} {_text_of(state)}"
        except PermissionError as error:
            if folder[:-1] not in find_ignored(git, [folder[:-1]]):
                raise unreadable(folder[:-1]) from error
    if not git.root.is_dir():
        raise not_started(git.root)
    _mark_replacing(listing, [path for path in links if listing[path].startswith(_WITHOUT_CLASS)], before)
    return listing


@contextmanager
def _entries(folder: str) -> Iterator[list[os.DirEntry[str]]]:
    """The entries of a folder, by its descriptor: else the kernel resolves its path for the stat of each."""
    try:
        held = os.open(folder, FOLDER)
    except (FileNotFoundError, NotADirectoryError):
        yield []
        return
    try:
        with os.scandir(held) as entries:
            yield list(entries)
    finally:
        os.close(held)


def _is_left_out(entry: os.DirEntry[str], path: str, installed: Installed) -> bool:
    """Whether the worktree's tools made it, or git would not take it."""
    name = entry.name
    if name in _EXAMINED:
        link_to_environment = not entry.is_dir(follow_symlinks=False) and installed.is_environment(path)
        if link_to_environment or installed.leaves_out(path):
            return True
    lower = name.lower()
    return lower == ".git" or (lower == ".gitmodules" and entry.is_symlink())


def _look(entry: os.DirEntry[str]) -> os.stat_result | None:
    """The stat of a file or link; None if it is neither, or gone."""
    try:
        state = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    return state if stat.S_ISREG(state.st_mode) or stat.S_ISLNK(state.st_mode) else None


def _class(path: str, state: os.stat_result, keep: Callable[[str], PathClass], *, nested: bool) -> str:
    """A link stands for the folder to which it may lead.

    Not at the top, where tools put links to what they built: what git ignores there is theirs.
    """
    cls = keep(path)
    if cls is PathClass.OTHER and "/" in path and stat.S_ISLNK(state.st_mode):
        cls = class_of_folder(path, keep)
    return _NESTED if nested and cls is PathClass.OTHER else cls


def _mark_replacing(listing: Listing, links: Collection[str], before: Listing) -> None:
    if not links:
        return
    classed = (path for path, seen in before.items() if not seen.startswith(_WITHOUT_CLASS))
    folders = {folder for path in classed for folder in above(path)}
    for path in links:
        if path in folders or before.get(path, "").startswith(_REPLACING):
            listing[path] = f"{_REPLACING} {listing[path].partition(' ')[2]}"


def _text_of(state: os.stat_result) -> str:
    return f"{state.st_ctime_ns} {state.st_size} {state.st_ino} {state.st_mode}"


def _is_as_listed(state: os.stat_result, seen: str) -> bool:
    return _text_of(state) == seen.partition(" ")[2]


def _facts(seen: str) -> list[int]:
    """ctime, which no program can set, size, inode and mode of an entry."""
    return list(map(int, seen.split(" ")[1:5]))


def _is_there(git: Git, tree: str) -> bool:
    try:
        return Objects(git.git_dir).tree_of(tree) == tree
    except Elsewhere:
        return False


class _NextTree:
    """The tree of a listing, made from the tree of the listing before it."""

    def __init__(self, git: Git, last: str, before: Listing, listing: Listing) -> None:
        self._git = git
        self._objects = Objects(git.git_dir)
        self._base = self._objects.tree_of(last) if last else Trees(git).empty()
        self._before = before
        self._listing = listing
        self.differing = {path for path, seen in listing.items() if before.get(path) != seen}

    def write(self, stored: dict[str, Stored]) -> str:
        gone = self._before.keys() - self._listing.keys()
        taken, left_out = self._divide(gone)
        edits: dict[str, tuple[str, str] | None] = dict.fromkeys(filter(self._has, (*gone, *left_out)))
        _store_files(self._git, {path: self._listing[path] for path in taken}, stored)
        edits |= {path: stored[path][1] for path in taken}
        return Trees(self._git).edit(self._base, edits)

    def _has(self, path: str) -> bool:
        """Whether the last tree has it."""
        return self._objects.entry_at(self._base, path) is not None

    def _divide(self, gone: Collection[str]) -> tuple[list[str], list[str]]:
        """The paths to read, and those that the tree shall not have."""
        # Other rules may bring or remove any file without a class; the first snapshot has none to remove.
        new_rules = bool(self._before) and any(map(_is_gitignore, (*self.differing, *gone)))
        taken, left_out, undecided = [], [], []
        for path in self._listing if new_rules else self.differing:
            cls, _, seen = self._listing[path].partition(" ")
            if cls == _NESTED or (cls == PathClass.OTHER and int(seen.split(" ")[1]) > LARGE_OTHER):
                left_out.append(path)
            elif cls != PathClass.OTHER or _is_gitignore(path):
                taken += [path] if path in self.differing else []
            elif new_rules or not self._before.get(path, "").startswith(cls) or not self._has(path):
                undecided.append(path)
            else:
                taken.append(path)
        ignored = find_ignored(self._git, undecided)
        left_out += ignored
        taken += [p for p in undecided if p not in ignored and (p in self.differing or not self._has(p))]
        return taken, left_out


def _is_gitignore(path: str) -> bool:
    return path.rpartition("/")[2] == ".gitignore"


def _store_files(git: Git, wanted: Mapping[str, str], stored: dict[str, Stored]) -> None:
    """Stores files and links; raises ChangedMeanwhile if one has another stat than in the listing.

    `stored`: what earlier attempts have stored; it grows.
    """
    unread = {path: seen for path, seen in wanted.items() if path not in stored or stored[path][0] != seen}
    let_the_clock_tick(max((_facts(seen)[0] for seen in unread.values()), default=0))
    with BlobWriter(Trees(git), packed=len(unread) >= BULK) as blobs:
        for path, seen in unread.items():
            place = f"{git.root}/{path}"
            mode, data = _read_file(place, path, seen)
            name = blobs.add(data)
            if not _is_as_listed(os.lstat(place), seen):
                raise ChangedMeanwhile
            stored[path] = seen, (mode, name)


def _read_file(place: str, path: str, seen: str) -> tuple[str, bytes | Path]:
    """The mode and the bytes of a file; of a large one its path."""
    *_, size, _, mode = _facts(seen)
    try:
        if stat.S_ISLNK(mode):
            return LINK, os.fsencode(os.readlink(place))
        file = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except PermissionError as error:
        raise unreadable(path) from error
    except OSError:
        raise ChangedMeanwhile from None
    with open(file, "rb") as opened:
        if not _is_as_listed(os.fstat(file), seen):
            raise ChangedMeanwhile
        kind = EXECUTABLE if mode & stat.S_IXUSR else FILE
        return kind, Path(place) if size > LARGE else opened.read()
