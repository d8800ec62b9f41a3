"""Finds tests and source in HEAD that no proven tree had: commits made without the worktree's files.

Git commits its index, not the tree: plumbing, flags that hide a change, filters and moved refs put anything
into HEAD while tree and status look right. A commit of what lies or lay in the tree is plain work, and so is
a part of it: each line of a file may be as it was in HEAD before, or as it is in the tree.
"""

from __future__ import annotations

import hashlib
import os
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from verdigris.checks.observation import find_unclaimed
from verdigris.checks.source_edits import more_than_stubs
from verdigris.core.confinement.protection import protected_classes
from verdigris.core.paths import Change, Entry, PathClass
from verdigris.languages.registry import is_mixed, same_oracle_part
from verdigris.storage.git import Git, null_split, users_git
from verdigris.storage.repository import head
from verdigris.storage.snapshots import head_moves
from verdigris.storage.snapshots.trees import Trees

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from verdigris.core.state import WorktreeState
    from verdigris.storage.project import Project


COMMITTED = "HEAD holds a version of it that no tree had"
GONE = ""
"""In place of a blob: HEAD does not hold the path."""
KNOWN_TREES = 20
LARGE = 2_000_000
"""Bytes: a larger file is compared as a whole."""


def find_unproven(
    project: Project, state: WorktreeState, seen: tuple[str, str], since: str | None
) -> dict[str, str]:
    """Path → blob in HEAD of what commits brought that were made here since HEAD was at `since`.

    `seen`: the tree as it rightly is, and as it was at the last look.
    """
    git, now = users_git(project.repo), head(project.repo).commit
    if now is None or now == since:
        return {}
    changes = head_moves.changes_between(git, since, now)
    changed = {c.path for c in changes if _matters(project, c.path)}
    committed = sorted(paths_committed_here(project, since, changed)) if changed else []
    if not committed:
        return {}
    held = Trees(git).entries(now, committed)
    known = tuple(dict.fromkeys((*seen, *_trees(state))))[:KNOWN_TREES]
    there = [project.workspace.entries(tree, committed) for tree in known]
    doubted = [path for path in committed if not _is_known(held.get(path), [t.get(path) for t in there])]
    before = Trees(git).entries(since, doubted) if since and doubted else {}
    unproven = {path: held[path].blob if path in held else GONE for path in doubted}
    for path in [path for path in doubted if path in held]:
        if _is_plain(project, git, held[path], before.get(path), [t.get(path) for t in there]):
            del unproven[path]
    if unproven and not _attributes_changed(project, changes, seen):
        lying = project.workspace.entries(project.workspace.snapshot(), list(unproven))
        rightly = [path for path in unproven if path in held and lying.get(path) == there[0].get(path)]
        entries = [Change(path, None, None, held[path].mode, unproven[path]) for path in rightly]
        for path in head_moves.clean(project.repo, git, entries):
            del unproven[path]
    return unproven


def _attributes_changed(project: Project, changes: Iterable[Change], heads: tuple[str, str]) -> bool:
    """While a person's attributes stand, git's own conversions are theirs."""
    now, then = heads
    paths = [c.path for c in (*changes, *project.workspace.changes(then, now))]
    return any(path.rpartition("/")[2] == ".gitattributes" for path in paths)


def _matters(project: Project, path: str) -> bool:
    cls = project.classify(path)
    return cls in {PathClass.SOURCE, PathClass.TEST, PathClass.SPEC} or is_mixed(path, cls)


def _trees(state: WorktreeState) -> Iterable[str]:
    opened = (state.turn and state.turn.tree, state.refactor and state.refactor.tree, state.ground)
    yield from filter(None, opened)
    yield from (red.tree for red in state.reds.values())
    for grounds in reversed(list(state.grounds.values())):
        yield from grounds


def _is_known(held: Entry | None, there: Sequence[Entry | None]) -> bool:
    return any((held and held.blob) == (entry and entry.blob) for entry in there)


def _is_plain(
    project: Project, git: Git, held: Entry, before: Entry | None, there: Sequence[Entry | None]
) -> bool:
    """Whether the bytes are those of a tree, as git may keep them, or lines of them."""
    committed, old = Trees(git).blobs([held.blob, before.blob if before else held.blob])
    blobs = [entry.blob for entry in there if entry]
    in_trees = [data for data in project.workspace.blobs(dict.fromkeys(blobs)) if data is not None]
    if committed is None:
        return False
    start = b"" if before is None else old or b""
    if any(_is_kept_as(committed, data) or is_part(start, committed, data) for data in in_trees):
        return True
    is_other = project.classify(held.path) is PathClass.OTHER
    return is_other and any(same_oracle_part(held.path, committed, data) for data in in_trees)


def _is_kept_as(committed: bytes, data: bytes) -> bool:
    """Whether the commit keeps the file with other line ends, or as a pointer of large-file storage."""
    if committed.replace(b"\r\n", b"\n") == data.replace(b"\r\n", b"\n"):
        return True
    pointer = b"oid sha256:" + hashlib.sha256(data).hexdigest().encode()
    return committed.startswith(b"version https://git-lfs") and pointer in committed


def is_part(old: bytes, committed: bytes, new: bytes) -> bool:
    """Whether each line is one that both have, or one of the old or the new where these differ."""
    if max(len(old), len(committed), len(new)) > LARGE:
        return False
    old_lines, lines, other = (data.replace(b"\r\n", b"\n").splitlines() for data in (old, committed, new))
    reached = {0}
    for tag, start, end, first, last in SequenceMatcher(None, old_lines, other, autojunk=False).get_opcodes():
        if tag == "equal":
            for line in old_lines[start:end]:
                reached = {at + 1 for at in reached if at < len(lines) and lines[at] == line}
            continue
        for line in (*old_lines[start:end], *other[first:last]):
            reached |= {at + 1 for at in reached if at < len(lines) and lines[at] == line}
    return len(lines) in reached


def never_in_the_tree(
    project: Project, state: WorktreeState, tree: str, unproven: Mapping[str, str]
) -> tuple[str, ...]:
    """Those that no call may have had in the tree, since the phase protects them; stubs and other layouts
    of the same source it may.
    """
    protected = protected_classes(state.phase)
    paths = [path for path in unproven if project.classify(path) in protected]
    return tuple(path for path in paths if not _is_stub(project, state, tree, path, unproven[path]))


def _is_stub(project: Project, state: WorktreeState, tree: str, path: str, blob: str) -> bool:
    if project.classify(path) is not PathClass.SOURCE or not blob:
        return False
    before = project.workspace.read(state.ground or tree, path)
    after = Trees(users_git(project.repo)).blob_bytes(blob)
    return after is not None and more_than_stubs(project, path, before, after, tree) is None


def describe(unproven: Mapping[str, str]) -> tuple[str, ...]:
    """A line for each path."""
    return tuple(
        f"HEAD {'holds' if blob else 'lacks'} {path} as it never was in this worktree: "
        "the commit was made without the files, and nothing proves it"
        for path, blob in unproven.items()
    )


def remedy(unproven: Mapping[str, str]) -> str:
    names = " ".join(unproven)
    return (
        f"`git update-index --no-assume-unchanged --no-skip-worktree {names}; git add {names}; git add "
        f"--renormalize {names}; git commit --amend --no-edit`: the commit then holds what lies in the tree"
    )


_THEIRS = "3"
"""Git's number for the other side of a conflict."""
LOOKED_AT = 1000
"""Commits; a move that brings more that are no remote's is not judged by each, but by its files."""


def find_foreign_source(
    project: Project, state: WorktreeState, before: str, since: str | None
) -> tuple[str, ...]:
    """Source that differs from the tree `before` by more than stubs; `since` is where HEAD was then."""
    tree = project.workspace.snapshot()
    changed = {edit.path for edit in find_unclaimed(project, before, tree)}
    changed -= _once_ground(project, state, tree, changed) | _free_conflicts(project, before, changed)
    if not changed:
        return ()
    suspect = changed - _find_checked_out(project, changed) | paths_committed_here(project, since, changed)
    return tuple(sorted(suspect))


def _free_conflicts(project: Project, before: str, paths: set[str]) -> set[str]:
    """Files that wait for a person or an agent to merge them, where the other side changed nothing but stubs,
    comments and layout: whoever resolves the conflict is judged by what comes of it.
    """
    free: set[str] = set()
    listed = null_split(users_git(project.repo).run("ls-files", "--unmerged", "-z")) if paths else []
    for row in listed:
        facts, _, path = row.partition("\t")
        _, blob, stage = facts.split(" ")
        if stage == _THEIRS and path in paths:
            theirs = Trees(users_git(project.repo)).blob_bytes(blob)
            ours = project.workspace.read(before, path)
            if theirs is not None and more_than_stubs(project, path, ours, theirs, before) is None:
                free.add(path)
    return free


def _once_ground(project: Project, state: WorktreeState, tree: str, paths: Iterable[str]) -> set[str]:
    """What lies there as it did in a ground: it was earned then, or found."""
    now = project.workspace.read_many(tree, paths)
    known = dict.fromkeys([state.ground, *(g for grounds in state.grounds.values() for g in grounds)])
    found: set[str] = set()
    for ground in filter(None, known):
        there = project.workspace.read_many(ground, now)
        found |= {path for path, data in now.items() if there[path] == data}
    return found


def _find_checked_out(project: Project, paths: Iterable[str]) -> set[str]:
    """The paths that lie there exactly as HEAD has them: a filter may be the agent's own."""
    commit = head(project.repo).commit
    if commit is None:
        return set()
    held = {entry.path: entry for entry in head_moves.list_commit(project.repo, commit).files}
    git = users_git(project.repo)
    found = set()
    for path in paths:
        entry, file = held.get(path), project.root / path
        data = file.read_bytes() if file.is_file() and not file.is_symlink() else None
        blob = git.run("cat-file", "blob", entry.blob) if entry else None
        if data == blob or (data and blob and data.replace(b"\r\n", b"\n") == blob.replace(b"\r\n", b"\n")):
            found.add(path)
    return found


def paths_committed_here(project: Project, since: str | None, paths: set[str]) -> set[str]:
    """The paths touched by a commit that no remote has and that is younger than the laws."""
    now = head(project.repo).commit
    if now is None:
        return set()
    git = users_git(project.repo)
    excluded = () if since is None else (since,)
    listed = git.run("rev-list", f"--max-count={LOOKED_AT}", now, "--not", "--remotes", *excluded)
    young = [commit for commit in os.fsdecode(listed).split() if _is_young(project, commit)]
    if not young:
        return set()
    if len(young) == LOOKED_AT:
        return paths
    commits = "".join(f"{commit}\n" for commit in young).encode()
    names = git.run(
        "diff-tree", "--stdin", "--root", "-r", "-c", "--name-only", "--no-commit-id", "-z", stdin=commits
    )
    return paths.intersection(null_split(names))


def _is_young(project: Project, commit: str) -> bool:
    (first,) = project.log.records(limit=1)
    return head_moves.time_of_commit(project.repo, commit) > first.ts / 1000
