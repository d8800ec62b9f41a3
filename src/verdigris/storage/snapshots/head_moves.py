"""Finds how HEAD changed since the last look: not at all, by plain commits, or by a move."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from verdigris.core.errors import StorageError
from verdigris.core.paths import LINK, Change, Entry, above
from verdigris.core.value import field, value
from verdigris.storage.git import null_split, users_git, with_conversion
from verdigris.storage.lock import hold_lock
from verdigris.storage.repository import head, read_plain
from verdigris.storage.snapshots.objects import Elsewhere, Objects, name_of
from verdigris.storage.snapshots.trees import Trees

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from verdigris.storage.git import Git
    from verdigris.storage.repository import Head, Repository


COMMITTED_HERE = frozenset({"commit", "commit (amend)", "commit (initial)"})
GITLINK = "160000"
LOCK_WAIT = 60.0


@value
class HeadMove:
    kind: Literal["none", "commit", "moved"]
    paths: frozenset[str] = frozenset()
    """Paths that commits from elsewhere changed, and that are the same in the worktree and in HEAD."""
    mixed: Mapping[str, Entry | None] = field(default_factory=dict)
    """Such paths that a commit made here also changed, with the entry in that commit."""


@value
class _ReflogEntry:
    """One entry of HEAD's reflog."""

    old: str
    new: str
    action: str
    seconds: int

    @property
    def made_here(self) -> bool:
        return self.action in COMMITTED_HERE


def move_since(repo: Repository, old: Head) -> HeadMove:
    new = head(repo)
    if new.commit == old.commit:
        return HeadMove("none")
    steps = _steps_since(repo, old.commit, new.commit)
    if steps and all(step.made_here for step in steps):
        return HeadMove("commit")
    git = users_git(repo)
    came = {change.path: change for change in changes_between(git, old.commit, new.commit)}
    made = _made_by(git, steps)
    paths = clean(repo, git, came.values())
    mixed = {path: entry for path, entry in made.items() if path in paths}
    return HeadMove("moved", paths.difference(made), mixed)


def _made_by(git: Git, steps: Sequence[_ReflogEntry]) -> dict[str, Entry | None]:
    """Path → entry as the last of the commits made here left it; None where that deleted it."""
    return {
        change.path: change.after
        for step in reversed(steps)
        if step.made_here
        for change in changes_between(git, step.old, step.new)
    }


def made_since(repo: Repository, commit: str | None) -> dict[str, Entry | None]:
    """What commits made here since HEAD was at `commit` left; nothing if the reflog is incomplete."""
    return _made_by(users_git(repo), _steps_since(repo, commit, head(repo).commit))


def before_own_commits(repo: Repository, since: int) -> str | None:
    """The commit before the latest series of commits that were made here since `since` (in seconds)."""
    commit = head(repo).commit
    for step in _reflog(repo):
        if step.new != commit or not step.made_here or step.seconds < since:
            break
        commit = _commit(step.old)
    return commit


def actions_since(repo: Repository, commit: str | None) -> frozenset[str]:
    """The reflog's names of the steps from `commit` to HEAD; none if the reflog is incomplete."""
    return frozenset(step.action for step in _steps_since(repo, commit, head(repo).commit))


def find_unmoved(repo: Repository, commit: str, paths: Iterable[str]) -> frozenset[str]:
    """The paths that are the same in `commit` and in HEAD; none if the commit is gone."""
    git, now = users_git(repo), head(repo).commit
    if not _exists(git, commit):
        return frozenset()
    return frozenset(paths).difference(change.path for change in changes_between(git, commit, now))


def _steps_since(repo: Repository, old: str | None, new: str | None) -> list[_ReflogEntry]:
    """The steps from `old` to `new`, newest first; none if the reflog is incomplete."""
    found: list[_ReflogEntry] = []
    expected = new
    for step in _reflog(repo):
        if step.new != expected:
            return []
        found.append(step)
        if _commit(step.old) == old:
            return found
        expected = step.old
    return []


def _reflog(repo: Repository) -> Iterable[_ReflogEntry]:
    try:
        lines = read_plain(repo.git_dir / "logs" / "HEAD").splitlines()
    except FileNotFoundError:
        return
    for line in reversed(lines):
        ids, _, message = os.fsdecode(line).partition("\t")
        match ids.split(" "):
            case [old, new, *_, seconds, _] if seconds.isdecimal():
                yield _ReflogEntry(old, new, message.partition(":")[0], int(seconds))
            case _:
                return


def _commit(name: str) -> str | None:
    return name if name.strip("0") else None


def changes_between(git: Git, old: str | None, new: str | None) -> tuple[Change, ...]:
    """The differences between two commits; a commit that is unborn or gone counts as empty."""
    if old == new:
        return ()
    width = len(old or new or "")
    sides = [side if side and _exists(git, side) else name_of(b"tree", b"", width) for side in (old, new)]
    return tuple(c for c in Trees(git).changes(*sides) if GITLINK not in {c.old_mode, c.new_mode})


def entries_at(repo: Repository, commit: str | None, paths: Collection[str]) -> dict[str, Entry]:
    """Those of `paths` that a commit has; one that is unborn or gone has none."""
    git = users_git(repo)
    if commit is None or not paths:
        return {}
    try:
        return Trees(git).entries(Objects(git.git_dir).tree_of(commit), paths)
    except Elsewhere:
        return Trees(git).entries(commit, paths) if _exists(git, commit) else {}


_CONVERSIONS = re.compile(
    rb"autocrlf|attributesfile|\[\s*include|\[\s*filter|filemode\s*=\s*(false|no|off|0)", re.IGNORECASE
)


def may_convert(repo: Repository, paths: Iterable[str]) -> bool:
    """Whether the user's git may write other bytes or modes at these paths than a commit has.

    Asking git itself costs two processes. A doubt is a yes. Variables of git's own do not reach it.
    """
    home = Path(os.environ.get("HOME", "/"))
    user = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git"
    info = repo.common_dir / "info" / "attributes"
    if any(file.exists() for file in (info, user / "attributes", Path("/etc/gitattributes"))):
        return True
    settings = (repo.common_dir / "config", repo.git_dir / "config.worktree", home / ".gitconfig")
    more = (user / "config", Path("/etc/gitconfig"))
    if any(_CONVERSIONS.search(read_plain(file)) for file in (*settings, *more) if file.is_file()):
        return True
    folders = {"", *(folder for path in paths for folder in above(path))}
    return any((repo.root / folder / ".gitattributes").exists() for folder in folders)


def time_of_commit(repo: Repository, commit: str) -> float:
    """When the object of a commit was written to this repository, in seconds; now, if that is unknown."""
    file = repo.common_dir / "objects" / commit[:2] / commit[2:]
    try:
        return file.stat().st_ctime
    except OSError:
        packs = (repo.common_dir / "objects" / "pack").glob("*.pack")
        return max((pack.stat().st_ctime for pack in packs), default=time.time())


def _exists(git: Git, commit: str) -> bool:
    try:
        return bool(Objects(git.git_dir).tree_of(commit))
    except Elsewhere:
        return git.call("cat-file", "-e", f"{commit}^{{tree}}").code == 0


def clean(repo: Repository, git: Git, came: Iterable[Change]) -> frozenset[str]:
    """The paths that the user's own git, with its conversions, reports as unchanged.

    It uses a private index, so that no flag in the user's index hides a change.
    """
    came = list(came)
    gone = {c.path for c in came if c.deleted and not os.path.lexists(repo.root / c.path)}
    present = {c.path: f"{c.new_mode} {c.new}\t{c.path}\0" for c in came if not c.deleted}
    if not present:
        return frozenset(gone)
    repo.private.mkdir(parents=True, exist_ok=True)
    with hold_lock(repo.lock("workspace"), wait=LOCK_WAIT) as held:
        own_index = repo.private / "moves-index"
        indexed = git.with_draft_index(own_index, held)
        own_index.unlink(missing_ok=True)  # git takes one that is not there for an empty one
        indexed.run("update-index", "-z", "--index-info", stdin=os.fsencode("".join(present.values())))
        with with_conversion(indexed, repo) as asked:
            modified = null_split(asked.run("ls-files", "-z", "--modified", "--deleted"))
    beyond = {path for path in present if _beyond_link(repo, path)}
    return frozenset(gone | present.keys() - set(modified) - beyond)


def _beyond_link(repo: Repository, path: str) -> bool:
    folders = path.split("/")[:-1]
    return any((repo.root / "/".join(folders[:depth])).is_symlink() for depth in range(1, len(folders) + 1))


@value
class Listing:
    files: tuple[Entry, ...]
    submodules: tuple[str, ...]


def list_commit(repo: Repository, commit: str) -> Listing:
    found = _list_entries(repo, commit)
    files = (entry for entry in found if entry.mode != GITLINK)
    return Listing(tuple(files), tuple(entry.path for entry in found if entry.mode == GITLINK))


def _list_entries(repo: Repository, commit: str) -> list[Entry]:
    git = users_git(repo)
    store = Objects(git.git_dir)
    try:
        return list(store.entries(store.tree_of(commit)))
    except Elsewhere:
        listed = null_split(git.run("ls-tree", "-r", "-z", "--full-tree", commit))
    parts = (line.split("\t", 1) for line in listed)
    return [Entry(path, about.split(" ")[0], about.split(" ")[2]) for about, path in parts]


def clean_entries(repo: Repository, entries: Iterable[Entry]) -> frozenset[str]:
    """The entries that the user's own git reports as unchanged, whatever their index says."""
    return clean(repo, users_git(repo), (Change(e.path, None, None, e.mode, e.blob) for e in entries))


def read_as_checked_out(repo: Repository, entry: Entry) -> bytes:
    """The bytes that a checkout would write; those of the blob where a filter fails."""
    git = users_git(repo)
    if entry.mode != LINK and may_convert(repo, (entry.path,)):
        with with_conversion(git, repo) as asked:
            filtered = asked.call("cat-file", "--filters", f"--path={entry.path}", entry.blob)
        if filtered.code == 0:
            return filtered.stdout
    data = Trees(git).blob_bytes(entry.blob)
    if data is None:
        raise StorageError(f"the blob of {entry.path} is missing", hint="`git fsck` says what is lost")
    return data
