"""The branch that holds the programs' state files: read, merged, written and pushed without a checkout.

The log is the truth; people and other machines see and edit the branch. No commit of theirs is ever removed.
A write or a push that fails does not stop a loop: it is tried again the next time.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from verdigris.core.errors import UserError
from verdigris.core.value import value
from verdigris.drivers.loop.branches.remote import (
    GitRemote,
    Pushed,
    PushRefused,
    RemoteMoved,
    Tip,
    Unreachable,
    fetch_tip,
    push_commit,
)
from verdigris.drivers.loop.state_file.person_edits import merge_state
from verdigris.drivers.private_worktree import ancestor, commit_of, list_branches, ref
from verdigris.storage.git import git, users_git
from verdigris.storage.repository import Repository, find_repository, is_checked_out, resolve
from verdigris.storage.snapshots.trees import Trees
from verdigris.turns.git import CommitIdentity, author_environment

BRANCH = "memory/autoloop"
AUTHOR = CommitIdentity("TDD Loop", "tdd-loop@localhost")
_MARK = "Loop-State"
"""The trailer of a commit that the loop made: the name and the blob of the file that it wrote."""
_LAST = "refs/tdd/memory"
"""Below it, by program, the blob that the loop wrote last: git keeps it even if people rewrite history."""
_MOST = 20
"""How often a write is tried again because another writer was quicker."""


@value
class MemoryPlace:
    branch: str = BRANCH
    remote: GitRemote | None = None
    """The remote that it is pushed to, and that people's edits come from."""


@value
class StateSeen:
    base: str
    """The text that the loop wrote last, or the present one if it never wrote."""
    text: str
    """The present text; empty if there is no file."""
    notes: tuple[str, ...] = ()


@value
class StateWritten:
    text: str
    """The present text: the loop's, merged with people's edits."""
    notes: tuple[str, ...]
    """Merges, and conflicts in which a person's line was kept."""
    push: Pushed | PushRefused | Unreachable | None
    """None: there is no remote."""


@value
class StateDeferred:
    """Nothing was written; the next write includes it."""

    why: str


def read_state(root: Path, name: str, branch: str = BRANCH) -> str:
    """The state file of a program; empty if there is none yet."""
    return _read_file(root, ref(branch), name)


def see_state(root: Path, name: str, place: MemoryPlace | None = None) -> StateSeen:
    """Reads the state file, after fetching what people pushed."""
    place = place or MemoryPlace()
    notes = tuple(_take_in(root, place))
    text = read_state(root, name, place.branch)
    return StateSeen(_base(root, name, place.branch, text), text, notes)


def write_state(
    root: Path, name: str, text: str, why: str, place: MemoryPlace | None = None
) -> StateWritten | StateDeferred:
    """Merges the loop's text with the one on the branch, commits it there, and pushes it."""
    place = place or MemoryPlace()
    notes = [*_take_in(root, place)]
    for _ in range(_MOST):
        old = commit_of(root, ref(place.branch))
        there = _read_file(root, old, name) if old else ""
        base = _base(root, name, place.branch, there)
        merged = merge_state(base, there, text) if there else None
        new = merged.text if merged else text
        if new == there == base and resolve(find_repository(root), f"{_LAST}/{name}"):
            return StateWritten(new, tuple(notes), _push(root, place, notes))
        blob = _ask(root, "hash-object", "-w", "--stdin", stdin=new)
        tree = _write_tree(root, (_files(root, old) if old else {}) | {f"{name}.md": f"100644 {blob}"})
        message = f"{why}\n\n{_MARK}: {name} {blob}"
        made = _commit_tree(root, tree, (old,) if old else (), message)
        moved = _move(root, place.branch, made, old)
        if isinstance(moved, StateDeferred):
            return moved
        if moved:
            _ask(root, "update-ref", f"{_LAST}/{name}", blob)
            gone = [f"{name}.md was gone from {place.branch} and is written anew"] if base else []
            notes += merged.notes if merged else gone
            push = _push(root, place, notes)
            return StateWritten(read_state(root, name, place.branch), tuple(notes), push)
    return StateDeferred(f"{place.branch} moved {_MOST} times while {name}.md was written")


# -- what the loop wrote last -----------------------------------------------------------------


def _base(root: Path, name: str, branch: str, otherwise: str) -> str:
    """The text that the loop wrote last: a trailer names it, or a ref if people rewrote the commit."""
    repo = find_repository(root)
    written = _find_mark(repo, name, branch)
    for blob in (written, resolve(repo, f"{_LAST}/{name}")):
        text = Trees(users_git(repo)).blob_bytes(blob) if blob else None
        if text is not None:
            return os.fsdecode(text)
    return otherwise


def _find_mark(repo: Repository, name: str, branch: str) -> str:
    """The blob that the newest marked commit names. That commit is usually the tip."""
    mark = re.compile(rf"^{_MARK}: {re.escape(name)} ([0-9a-f]+)$", re.MULTILINE)
    tip = resolve(repo, ref(branch))
    message = Trees(users_git(repo)).read_message(tip) if tip else ""
    if tip and not mark.search(message):
        pattern = f"^{_MARK}: {re.escape(name)} [0-9a-f]*$"
        message = git(repo.root, "log", "-1", "--format=%B", f"--grep={pattern}", tip).out
    found = mark.search(message)
    return found[1] if found else ""


# -- people's commits -------------------------------------------------------------------------


def _take_in(root: Path, place: MemoryPlace) -> Iterator[str]:
    """Takes in the remote's commits, by fast-forward or merge; yields notes."""
    if place.remote is None:
        return
    for _ in range(_MOST):
        found = fetch_tip(root, place.remote, place.branch)
        if isinstance(found, Unreachable):
            yield f"edits of {place.branch} could not be fetched from the remote: {found.why}"
        if not isinstance(found, Tip):
            return
        local = commit_of(root, ref(place.branch))
        if local and ancestor(root, found.commit, local):
            return
        notes: tuple[str, ...] = ()
        made = found.commit
        if local and not ancestor(root, local, made):
            made, notes = _merge_commits(root, place.branch, local, found.commit)
        moved = _move(root, place.branch, made, local)
        if isinstance(moved, StateDeferred):
            yield moved.why
            return
        if moved:
            yield from notes
            return


def _merge_commits(root: Path, branch: str, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
    """Merges file by file. In a state file that both changed, the remote's lines win: they are a person's."""
    common = git(root, "merge-base", ours, theirs).out.strip()
    trees = [_files(root, commit) if commit else {} for commit in (common, theirs, ours)]
    notes: list[str] = []
    merged: dict[str, str] = {}
    for path in sorted(set().union(*trees)):
        base, remote, local = (tree.get(path, "") for tree in trees)
        if local in (remote, base):
            chosen = remote
        elif remote == base or (not remote and not common):
            chosen = local
        elif path.endswith(".md") and remote and local:
            chosen, said = _merge_blobs(root, branch, path, (base, remote, local))
            notes += said
        else:
            chosen = remote
        if chosen:
            merged[path] = chosen
    tree = _write_tree(root, merged)
    made = _commit_tree(root, tree, (ours, theirs), f"Merge what was pushed to {branch}")
    return made, tuple(notes)


def _merge_blobs(
    root: Path, branch: str, path: str, blobs: tuple[str, str, str]
) -> tuple[str, tuple[str, ...]]:
    base, remote, local = (
        git(root, "cat-file", "blob", entry.partition(" ")[2]).out if entry else "" for entry in blobs
    )
    if not blobs[0]:
        base = _base(root, path.removesuffix(".md"), branch, local)
    merged = merge_state(base, remote, local)
    mode = blobs[1].partition(" ")[0]
    return f"{mode} {_ask(root, 'hash-object', '-w', '--stdin', stdin=merged.text)}", merged.notes


def _files(root: Path, commit: str) -> dict[str, str]:
    """Maps each path to its mode and blob."""
    found = {}
    for line in filter(None, git(root, "ls-tree", "-r", "-z", commit).out.split("\0")):
        about, _, path = line.partition("\t")
        mode, _, blob = about.split()
        found[path] = f"{mode} {blob}"
    return found


def _write_tree(root: Path, files: Mapping[str, str]) -> str:
    if not any("/" in path for path in files):
        flat = "".join(f"{entry.replace(' ', ' blob ')}\t{path}\0" for path, entry in files.items())
        return _ask(root, "mktree", "-z", stdin=flat)
    with tempfile.TemporaryDirectory() as folder:
        env = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        lines = "".join(f"{entry}\t{path}\0" for path, entry in files.items())
        _ask(root, "update-index", "-z", "--index-info", stdin=lines, env=env)
        return _ask(root, "write-tree", env=env)


# -- commits and pushes -----------------------------------------------------------------------


def _commit_tree(root: Path, tree: str, parents: tuple[str, ...], message: str) -> str:
    above = [word for parent in parents for word in ("-p", parent)]
    return _ask(root, "commit-tree", tree, *above, "-m", message, env=author_environment(root, AUTHOR))


def _move(root: Path, branch: str, new: str, old: str) -> bool | StateDeferred:
    """Moves the branch if it is still at `old`; False: another writer was quicker."""
    if place := _find_checkout(root, branch):
        said = git(Path(place), "merge", "--quiet", "--ff-only", new)
        if said.ok or commit_of(root, ref(branch)) != old:
            return said.ok
        return StateDeferred(f"{branch} is checked out in {place} and cannot move: commit what is open there")
    return git(root, "update-ref", "-m", "tdd loop", ref(branch), new, old).ok


def _find_checkout(root: Path, branch: str) -> str:
    if not is_checked_out(find_repository(root), branch):
        return ""
    place = dict(list_branches(root, branch)).get(branch, "")
    return place if place and Path(place).is_dir() else ""


def _push(root: Path, place: MemoryPlace, notes: list[str]) -> Pushed | PushRefused | Unreachable | None:
    if place.remote is None:
        return None
    for _ in range(_MOST):
        found = push_commit(root, place.remote, commit_of(root, ref(place.branch)), place.branch)
        if not isinstance(found, RemoteMoved):
            return found
        notes += _take_in(root, place)
    return Unreachable(f"{place.remote.name}: {place.branch} moved {_MOST} times while it was pushed")


def _read_file(root: Path, commit: str, name: str) -> str:
    repo = find_repository(root)
    known = resolve(repo, commit) if commit.startswith("refs/") else commit
    data = Trees(users_git(repo)).read_committed(known, f"{name}.md") if known else None
    return os.fsdecode(data or b"")


def _ask(root: Path, *words: str, stdin: str = "", env: Mapping[str, str] | None = None) -> str:
    said = git(root, *words, stdin=stdin, env=env or {})
    if not said.ok:
        raise UserError(f"git {words[0]} failed: {said.err.strip()}", hint="`git fsck` checks the repository")
    return said.out.strip()
