"""The private index: makes a tree of the worktree, hashing only what changed."""

# `os` calls on `str` instead of pathlib, which is slower:

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING

from verdigris.core.errors import StorageError
from verdigris.storage.calls.open_calls import shared_inodes
from verdigris.storage.git import GitFailed, null_ended, null_split, require_success
from verdigris.storage.snapshots.objects import Elsewhere, Objects
from verdigris.storage.snapshots.scan import Scan, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

    from verdigris.core.paths import PathClass
    from verdigris.storage.git import Git


SECOND = 1_000_000_000
ATTEMPTS = 5
BULK = 500
"""With this many files or more, their objects go into one pack."""
PACKS_IN_BULK = (2, 37)
"""An older `git update-index` would make a pack of each file."""
TICK_LIMIT = 0.05
TICK_STEP = 0.001
COARSE = 5 if sys.platform == "linux" else time.CLOCK_REALTIME
"""The clock of file timestamps: CLOCK_REALTIME_COARSE, which Python does not name."""


def snapshot(git: Git, index: Path, keep: Callable[[str], PathClass], seen: Collection[str] = ()) -> str:
    """Makes the tree of the worktree as it is now. `git` uses the private `index`, whose lock is held.

    `seen`: paths of an earlier snapshot, which the index may not have.
    """
    note, is_fresh = index.with_name("tree"), False
    for _ in range(ATTEMPTS):
        try:
            if not _bring_up_to_date(git, Scan(git, keep, seen), note):
                continue
            if (known := known_tree(index)) and _is_tree(git, known):
                return known
            tree = _write_tree(git)
            note.write_text(tree)
        except (GitFailed, IsADirectoryError):  # the index is damaged, or the store lacks objects of it
            if is_fresh:
                raise
            is_fresh = _discard(index)
        else:
            return tree
    raise StorageError(
        "files change faster than a snapshot can be made",
        hint="stop what is writing to the worktree, then try again",
    )


def _discard(index: Path) -> bool:
    """Removes an index that git cannot use: the next one is made from nothing."""
    for path in (index, index.with_name("tree"), index.with_name("fresh.json")):
        if path.is_dir():
            path.rename(path.with_name(f"{path.name}.damaged-{time.time_ns()}"))
        path.unlink(missing_ok=True)
    return True


def _is_tree(git: Git, name: str) -> bool:
    try:
        return Objects(git.git_dir).tree_of(name) == name
    except Elsewhere:
        return False


def clear(index: Path) -> None:
    """Removes the lock that a killed git left beside its index; we hold ours, so no git is running."""
    index.with_name(f"{index.name}.lock").unlink(missing_ok=True)


def _bring_up_to_date(git: Git, scan: Scan, note: Path) -> bool:
    """Brings the index up to date; returns False if files changed meanwhile."""
    private, now = note.parent, _mapped_paths(git, note.parent)
    before = read_mapped(private)
    settled = _take_difference(git, scan, note, {*before, *now})
    now |= _mapped_paths(git, private)
    if now or before:
        note_mapped(private, now)
    return settled


def _take_difference(git: Git, scan: Scan, note: Path, doubted: Iterable[str]) -> bool:
    """Puts into the index what differs from it; returns False if files changed meanwhile."""
    began = time.time_ns()
    fresh = note.with_name("fresh.json")
    looks = load(fresh)
    suspects = {path for path, seen in looks.items() if look(git.root, path) != seen}
    difference = scan.difference(sorted(suspects.union(doubted)))
    if not difference:
        if looks:
            save(fresh, young_entries(looks, began))
        return True
    # The order matters: a kill must never leave a note of a tree that is older than the index, nor the stat
    # of a file whose bytes were not hashed.
    note.unlink(missing_ok=True)
    if difference.forget:
        git.run("update-index", "--force-remove", "-z", "--stdin", stdin=null_ended(difference.forget))
    taken = {path: look_of(state) for path, state in difference.take.items()}
    gone = frozenset(difference.forget)
    looks = {path: seen for path, seen in looks.items() if path not in gone} | taken
    save(fresh, looks)
    hashed_from = time.time_ns()
    if taken and not _take(git, taken):
        return False
    save(fresh, young_entries(looks, hashed_from))
    return True


def _mapped_paths(git: Git, private: Path) -> set[str]:
    inodes = shared_inodes(str(private))
    return paths_of_inodes(git.root, null_split(git.run("ls-files", "-z")), inodes) if inodes else set()


def _take(git: Git, taken: dict[str, Look]) -> bool:
    """Hashes these files; returns False if their stat changed meanwhile."""
    let_the_clock_tick(max(max(ctime, mtime) for ctime, mtime, *_ in taken.values()))
    arguments = (
        *_in_bulk(git, len(taken)),
        "update-index",
        "--add",
        "--remove",
        "--replace",
        "-z",
        "--stdin",
    )
    output = git.call(*arguments, stdin=null_ended(taken))
    is_unchanged = all(look(git.root, path) == seen for path, seen in taken.items())
    if output.code != 0:
        _name_unreadable(git.root, taken)
        if is_unchanged:
            require_success(output, arguments)
        return False
    return is_unchanged


def _write_tree(git: Git) -> str:
    return os.fsdecode(git.run("write-tree")).strip()


def _in_bulk(git: Git, count: int) -> tuple[str, ...]:
    if count < BULK:
        return ()
    numbers = os.fsdecode(git.run("version")).split(" ")[2].split(".")
    return ("-c", "core.bigFileThreshold=1") if (int(numbers[0]), int(numbers[1])) >= PACKS_IN_BULK else ()


def let_the_clock_tick(newest: int) -> None:
    """Waits until a write gets a later timestamp than `newest`.

    Otherwise a write of the same size, after the hashing but within the same tick, would never be noticed.
    """
    deadline = time.monotonic() + TICK_LIMIT
    while time.clock_gettime_ns(COARSE) <= newest and time.monotonic() < deadline:
        time.sleep(TICK_STEP)


def _name_unreadable(root: Path, paths: Iterable[str]) -> None:
    for path in paths:
        try:
            os.close(os.open(root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK))
        except PermissionError as error:
            raise unreadable(path) from error
        except OSError:
            continue


def known_tree(index: Path) -> str | None:
    """The tree that the index represents; None if it was not written yet."""
    try:
        return index.with_name("tree").read_text()
    except FileNotFoundError:
        return None


Look = tuple[int, ...]
"""ctime, mtime, size, inode and mode of a file."""


def look(root: Path, path: str) -> Look | None:
    try:
        return look_of(os.lstat(root / path))
    except OSError:
        return None


def look_of(state: os.stat_result) -> Look:
    return state.st_ctime_ns, state.st_mtime_ns, state.st_size, state.st_ino, state.st_mode


def load(file: Path) -> dict[str, Look]:
    try:
        return {path: tuple(look) for path, look in json.loads(file.read_bytes()).items()}
    except (FileNotFoundError, ValueError, TypeError, AttributeError):
        return {}


def save(file: Path, looks: dict[str, Look]) -> None:
    draft = file.with_name(f"{file.name}.new")
    draft.write_text(json.dumps(looks))
    draft.replace(file)


def young_entries(looks: dict[str, Look], now: int) -> dict[str, Look]:
    """The entries that a write after `now` could change within the same second as their ctime."""
    return {path: seen for path, seen in looks.items() if seen[0] // SECOND >= now // SECOND}


_MAPPED = "mapped.json"
"""Files that an agent's process has mapped (ADR 37).

Writing to a page through a mapping changes the timestamp only once, until the page is written to the disk. So
a file that is mapped now has to be read again next time.
"""


def read_mapped(private: Path) -> list[str]:
    """The paths that were mapped at the last snapshot."""
    try:
        return list(map(str, json.loads((private / _MAPPED).read_bytes())))
    except (OSError, ValueError, TypeError):
        return []


def note_mapped(private: Path, paths: Collection[str]) -> None:
    file = private / _MAPPED
    if not paths:
        file.unlink(missing_ok=True)
        return
    draft = file.with_name(f"{_MAPPED}.{os.getpid()}")
    draft.write_text(json.dumps(sorted(paths)))
    draft.replace(file)


def paths_of_inodes(root: Path, paths: Iterable[str], inodes: Collection[int]) -> set[str]:
    return {path for path in paths if _inode(f"{root}/{path}") in inodes}


def _inode(path: str) -> int:
    try:
        return os.lstat(path).st_ino
    except OSError:
        return 0
