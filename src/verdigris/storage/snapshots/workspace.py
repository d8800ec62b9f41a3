"""The worktree and its snapshots."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import storage_error
from verdigris.storage.git import Git, store_git, users_git
from verdigris.storage.lock import hold_lock
from verdigris.storage.snapshots import listing
from verdigris.storage.snapshots.trees import Trees

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from verdigris.core.paths import PathClass
    from verdigris.storage.repository import Repository
    from verdigris.storage.snapshots.restoration import Displaced


LOCK_WAIT = 60.0


class Workspace(Trees):
    """The worktree, and the store of its snapshots.

    Snapshots are trees of git objects; of permissions they have only the executable bit of the owner.
    """

    def __init__(self, repo: Repository, keep: Callable[[str], PathClass], shown: str | None = None) -> None:
        """`shown`: the tree that is shown instead of the worktree's."""
        self._repo = repo
        self._keep = keep
        self._shown = shown
        self._store: Git | None = None
        self._last: listing.Known | None = None
        """The listing of the worktree at the last snapshot, and its tree."""

    @property
    def _laying_note(self) -> Path:
        return self._repo.private / "laying.json"

    def snapshot(self) -> str:
        """Makes the tree of the worktree as it is now; `scan.py` decides which files it has."""
        if self._shown is not None:
            return self._shown
        with self._with_draft() as git:
            known = self._last or listing.load(self._repo.private)
            self._last = listing.snapshot(git, self._repo.private, self._keep, known)
            if self._last != known:
                listing.save(self._repo.private, self._last)
            return self._last.tree

    def lay(self, tree: str, paths: Iterable[str], *, expect: str) -> tuple[Displaced, ...]:
        """Make each path in the worktree as it is in `tree`; folders left empty go.

        `expect` is the tree that the caller believes to lie there. What is neither its nor `tree`'s is
        stored and returned, as is what stood in the way. Regular files are written in place and keep their
        other permissions. After a kill, the same call finishes the job, and returns what the first one
        displaced as well.
        """
        with self._with_draft() as git:
            from verdigris.storage.snapshots import restoration

            return restoration.lay(git, self._laying_note, tree, paths, expect=expect)

    def forget_laying(self) -> None:
        """What the last `lay` displaced is recorded: the same call again is a new one."""
        self._laying_note.unlink(missing_ok=True)

    @property
    def git(self) -> Git:
        """The store, opened once: reading the environment takes longer than most calls of it."""
        if self._store is None or not self._store.git_dir.is_dir():
            self._store = open_store(self._repo)
        return self._store

    @contextmanager
    def _with_draft(self) -> Iterator[Git]:
        """Git with an index of this worktree's own to make a tree in, while its lock is held."""
        self._repo.private.mkdir(parents=True, exist_ok=True)
        with hold_lock(self._repo.lock("workspace"), wait=LOCK_WAIT) as held:
            try:
                yield self.git.with_draft_index(self._repo.private / "graft-index", held)
            except OSError as error:
                where = error.filename or self._repo.private
                raise storage_error(f"cannot use {where}", error, self._repo.private) from error


# excludesFile is named because its default lies under the user's HOME.
CONFIG = """\
[core]
\trepositoryformatversion = {version}
\tbare = false
\tfilemode = true
\tsymlinks = true
\tignoreCase = false
\tautocrlf = false
\tsafecrlf = false
\tfsmonitor = false
\tuntrackedCache = false
\thooksPath = /dev/null
\texcludesFile = /dev/null
\tprotectNTFS = false
\tprotectHFS = false
\tcompression = 1
[extensions]
\tobjectFormat = {algorithm}
[gc]
\tauto = 0
[index]
\tversion = 4
"""
_USUAL = "sha1"
ATTRIBUTES = "* -text -crlf -ident -filter !eol !working-tree-encoding\n"
"""Attributes that win over any `.gitattributes` in the tree, so that no byte is converted."""


def open_store(repo: Repository) -> Git:
    """The store of `repo`, made on first use."""
    store = repo.control / "store"
    git = store_git(repo, store)
    if not store.is_dir():
        try:
            _make(repo, store)
        except OSError as error:
            raise storage_error(f"cannot make the store {store}", error, repo.control) from error
    return git


def _make(repo: Repository, store: Path) -> None:
    draft = draft_store(repo)
    try:
        draft.rename(store)
    except OSError:
        import shutil

        shutil.rmtree(draft, ignore_errors=True)
        if not store.is_dir():
            raise


def draft_store(repo: Repository) -> Path:
    """Makes an empty store beside the place where it will be."""
    import tempfile

    repo.control.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix="store.", dir=repo.control))
    for folder in ("info", "objects/info", "objects/pack", "refs/heads", "refs/tags"):
        (draft / folder).mkdir(parents=True)
    (draft / "HEAD").write_text("ref: refs/heads/main\n")
    algorithm = _object_format(repo)
    config = (
        CONFIG if algorithm != _USUAL else CONFIG.replace("[extensions]\n\tobjectFormat = {algorithm}\n", "")
    )
    (draft / "config").write_text(config.format(version=0 if algorithm == _USUAL else 1, algorithm=algorithm))
    if repo.apart is not None:  # so that the trees of commits are at hand, and nothing of them is copied
        lent = draft / "objects" / "info" / "alternates"
        lent.write_bytes(os.fsencode(repo.common_dir / "objects") + b"\n")
    (draft / "info" / "attributes").write_text(ATTRIBUTES)
    return draft


def _object_format(repo: Repository) -> str:
    """The hash that names the repository's objects. Git is asked only if the configuration mentions it."""
    config = repo.common_dir / "config"
    if not config.is_file() or b"objectformat" not in config.read_bytes().lower():
        return _USUAL
    asked = users_git(repo).call("config", "--file", str(config), "extensions.objectformat")
    return os.fsdecode(asked.stdout).strip() or _USUAL
