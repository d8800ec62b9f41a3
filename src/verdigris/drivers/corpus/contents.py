"""The contents of a corpus before it is written, and the trees of a repository from which patches are made.

A tree may belong to a commit or to a snapshot, or be the result of a patch.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from verdigris.core.errors import StorageError
from verdigris.core.paths import Change, Classes, PathClass, classify
from verdigris.core.records import Actor
from verdigris.core.settings import Settings
from verdigris.core.value import value
from verdigris.drivers.audit.tree_runs.folder import AuditFolder
from verdigris.drivers.corpus.session_source import Trajectory
from verdigris.drivers.corpus.triple import CommitPatches, LeftOut, Triple
from verdigris.storage.git import users_git
from verdigris.storage.project import Project, open_log
from verdigris.storage.repository import Repository
from verdigris.storage.snapshots.objects import Elsewhere, Objects
from verdigris.storage.snapshots.trees import Trees
from verdigris.storage.snapshots.workspace import open_store

_PATCH = ("diff-tree", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv")
_PATHS = 400
"""Paths in one call of git, since an argv has a limit."""


_SMALL = 200
"""Up to so many files of a tree are read one by one without git."""


class TreeObjects:
    def __init__(self, repo: Repository, folder: AuditFolder) -> None:
        self.folder = folder
        apart = folder.repository(repo)
        self._git = open_store(apart)
        kept = repo.control / "store" / "objects"
        if kept.is_dir():
            with (self._git.git_dir / "objects" / "info" / "alternates").open("ab") as lent:
                lent.write(os.fsencode(kept) + b"\n")
        self.project = Project(apart, open_log(apart), Actor(client="corpus"), Settings(), Classes(()))
        """Reads trees; it has no settings and no path classes."""
        self._whole: set[str] = set()
        self._read: set[str] = set()
        """Objects that could be read."""
        self._attributes = folder.path / "binary.attributes"
        self._attributes.write_text("* -diff\n", "ascii")

    def changes(self, old: str, new: str) -> tuple[Change, ...]:
        return Trees(self._git).changes(old, new)

    def patch(self, old: str, new: str, paths: Sequence[str] | None = None) -> str:
        """Returns a patch for `git apply` as text; files that are no UTF-8 are in it as binary files."""
        wanted = [change.path for change in self.changes(old, new)] if paths is None else paths
        parts = [wanted[at : at + _PATHS] for at in range(0, len(wanted), _PATHS)]
        return "".join(self._patch(old, new, part) for part in parts)

    def _patch(self, old: str, new: str, paths: Sequence[str]) -> str:
        try:
            return self._git.run(*_PATCH, old, new, "--", *paths).decode("utf-8")
        except UnicodeDecodeError:
            if len(paths) > 1:
                return "".join(self._patch(old, new, [path]) for path in paths)
            as_binary = f"core.attributesFile={self._attributes}"
            return self._git.run("-c", as_binary, *_PATCH, old, new, "--", *paths).decode("utf-8")

    def apply(self, tree: str, *patches: str) -> str | None:
        """Returns the tree after the patches, or None if one does not apply."""
        git = self._git.with_index(self.folder.path / "index")
        git.run("read-tree", tree)
        for patch in filter(None, patches):
            applied = git.call("apply", "--cached", "--whitespace=nowarn", "-", stdin=patch.encode("utf-8"))
            if applied.code != 0:
                return None
        return os.fsdecode(git.run("write-tree")).strip()

    def tree_of(self, commit: str) -> str | None:
        """Returns None if there is no such commit."""
        with suppress(Elsewhere):
            return Objects(self._git.git_dir).tree_of(commit)
        answer = self._git.call("rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}")
        return os.fsdecode(answer.stdout).strip() if commit and answer.code == 0 else None

    def has_all(self, tree: str) -> bool:
        """Whether the tree can be read, with all folders and files in it."""
        if tree in self._whole:  # the green of one change is the ground of the next
            return True
        if self._can_read_all(tree):
            self._whole.add(tree)
            return True
        listed = self._git.call("ls-tree", "-r", "-t", "-z", tree)
        if listed.code != 0:
            return False
        about = (line.partition(b"\t")[0].split(b" ") for line in listed.stdout.split(b"\0") if line)
        names = b"".join(name + b"\n" for _, kind, name in about if kind != b"commit")
        answer = self._git.run("cat-file", "--batch-check=%(objecttype)", stdin=names)
        if b" missing\n" in answer:
            return False
        self._whole.add(tree)
        return True

    def _can_read_all(self, tree: str) -> bool:
        """Whether it is small, and each object lies loose and whole; else git has to be asked."""
        store = Objects(self._git.git_dir)
        try:
            blobs = {entry.blob for entry in islice(store.files(tree), _SMALL + 1)}
            if len(blobs) > _SMALL:
                return False
            for blob in blobs - self._read:
                store.blob(blob)
                self._read.add(blob)
        except Elsewhere:
            return False
        return True

    def blob(self, name: str) -> bytes | None:
        return Trees(self._git).blob_bytes(name) if name else None


@contextmanager
def open_objects(repo: Repository) -> Iterator[TreeObjects]:
    with temporary_folder("tdd-corpus.") as folder:
        yield TreeObjects(repo, AuditFolder(folder))


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Makes a folder that is removed afterwards; a full or failing disk is a StorageError."""
    try:
        with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as folder:
            yield Path(folder)
    except OSError as error:
        raise StorageError(
            f"{error.filename or tempfile.gettempdir()} cannot be used: {error.strerror}",
            hint="make room there, or set TMPDIR to a folder that has some",
        ) from error


_REMOTE = re.compile(r"[:/](?P<owner>[^/:]+)/(?P<name>[^/]+?)(\.git)?/?$")
_CREDENTIALS = re.compile(r"(?<=://)[^/@]+@")
ORACLE = frozenset({PathClass.TEST, PathClass.SPEC})


class NoTripleMade(Exception):
    """Why no triple can be made of a change."""


@value
class CorpusContents:
    triples: tuple[Triple, ...] = ()
    trajectories: tuple[Trajectory, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    def __add__(self, other: CorpusContents) -> CorpusContents:
        return CorpusContents(
            self.triples + other.triples,
            self.trajectories + other.trajectories,
            self.left_out + other.left_out,
        )


@value
class RenderedCorpus:
    """A corpus in one format."""

    files: tuple[tuple[str, bytes], ...]
    """Pairs of path and content, in the order in which they are written."""
    rows: Mapping[str, int]
    """By split."""
    left_out: tuple[LeftOut, ...] = ()


@value
class RepositoryName:
    name: str
    """`owner/name`; `local/FOLDER` without a remote."""
    remote: str = ""


def name_repository(repo: Repository, given: str) -> RepositoryName:
    """Reads the remote `origin`; credentials in its address are left out."""
    answer = users_git(repo).call("config", "--get", "remote.origin.url")
    remote = _CREDENTIALS.sub("", os.fsdecode(answer.stdout).strip()) if answer.code == 0 else ""
    match = _REMOTE.search(remote)
    folder = (repo.common_dir.parent if repo.common_dir.name == ".git" else repo.root).name
    remote = remote if "://" in remote or re.match(r"[\w.-]+@[\w.-]+:", remote) else ""
    if given:
        return RepositoryName(given, remote)
    named = f"{match['owner']}/{match['name']}" if match and remote else f"local/{folder}"
    return RepositoryName(named, remote)


def patches_against(objects: TreeObjects, classes: Classes, old: str, new: str) -> CommitPatches:
    """Returns all that changed, with tests and specs apart from the rest."""
    changed = [change.path for change in objects.changes(old, new)]
    tests = [path for path in changed if classify(path, classes) in ORACLE]
    others = [path for path in changed if path not in frozenset(tests)]
    return CommitPatches(objects.patch(old, new, tests), objects.patch(old, new, others))
