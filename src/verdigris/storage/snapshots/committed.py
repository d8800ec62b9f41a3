"""What a commit holds, and which of it lies in the worktree as the user's git would check it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.change import LINK, Change, Entry
from verdigris.core.value import value
from verdigris.storage.git import converting, null_split, users_git
from verdigris.storage.snapshots.moves import GITLINK, clean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdigris.storage.repository import Repository


@value
class Listing:
    files: tuple[Entry, ...]
    submodules: tuple[str, ...]


def listing(repo: Repository, commit: str) -> Listing:
    files: list[Entry] = []
    submodules: list[str] = []
    for line in null_split(users_git(repo).run("ls-tree", "-r", "-z", "--full-tree", commit)):
        about, path = line.split("\t", 1)
        mode, _, blob = about.split(" ")
        if mode == GITLINK:
            submodules.append(path)
        else:
            files.append(Entry(path, mode, blob))
    return Listing(tuple(files), tuple(submodules))


def unchanged(repo: Repository, entries: Iterable[Entry]) -> frozenset[str]:
    """Those that the user's own git would call clean, whatever their index says."""
    return clean(repo, users_git(repo), (Change(e.path, None, None, e.mode, e.blob) for e in entries))


def checked_out(repo: Repository, entry: Entry) -> bytes:
    """The bytes that a checkout would write; those of the blob where a filter fails."""
    git = users_git(repo)
    if entry.mode != LINK:
        with converting(git, repo) as asked:
            filtered = asked.call("cat-file", "--filters", f"--path={entry.path}", entry.blob)
        if filtered.code == 0:
            return filtered.stdout
    return git.run("cat-file", "blob", entry.blob)
