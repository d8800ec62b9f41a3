"""What HEAD holds of tests and source as no tree did: a commit made behind the worktree's back.

Git commits its index, not the tree: plumbing, flags that hide a change, filters and moved refs put anything
into HEAD while tree and status look right. A commit of what lies or lay in the tree is plain work, and so is
a part of it: each line of a file may be as it was in HEAD before, or as it is in the tree.
"""

from __future__ import annotations

import hashlib
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from verdigris.checks.stubimports import more_than_stubs
from verdigris.checks.unearned import made_here
from verdigris.core.change import Change, Entry
from verdigris.core.pathclass import PathClass
from verdigris.core.protection import protected_classes
from verdigris.languages.oraclepart import is_mixed, same_oracle_part
from verdigris.storage.git import users_git
from verdigris.storage.repository import head
from verdigris.storage.snapshots import moves, trees

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from verdigris.core.state import WorktreeState
    from verdigris.storage.git import Git
    from verdigris.storage.project import Project

COMMITTED = "HEAD holds it as no tree did"
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
    changes = moves.between(git, since, now)
    changed = {c.path for c in changes if _matters(project, c.path)}
    asked = sorted(made_here(project, since, changed)) if changed else []
    if not asked:
        return {}
    held = trees.entries(git, now, asked)
    known = tuple(dict.fromkeys((*seen, *_trees(state))))[:KNOWN_TREES]
    there = [project.workspace.entries(tree, asked) for tree in known]
    doubted = [path for path in asked if not _is_known(held.get(path), [t.get(path) for t in there])]
    before = trees.entries(git, since, doubted) if since and doubted else {}
    found = {path: held[path].blob if path in held else GONE for path in doubted}
    for path in [path for path in doubted if path in held]:
        if _is_plain(project, git, held[path], before.get(path), [t.get(path) for t in there]):
            del found[path]
    if found and not _attributes_changed(project, changes, seen):
        lying = project.workspace.entries(project.workspace.snapshot(), list(found))
        rightly = [path for path in found if path in held and lying.get(path) == there[0].get(path)]
        entries = [Change(path, None, None, held[path].mode, found[path]) for path in rightly]
        for path in moves.clean(project.repo, git, entries):
            del found[path]
    return found


def _attributes_changed(project: Project, changes: Iterable[Change], seen: tuple[str, str]) -> bool:
    """While a person's attributes stand, git's own conversions are theirs."""
    now, then = seen
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
    committed, old = trees.blobs(git, [held.blob, before.blob if before else held.blob])
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
    """With other line ends, or as a pointer of large-file storage."""
    if committed.replace(b"\r\n", b"\n") == data.replace(b"\r\n", b"\n"):
        return True
    pointer = b"oid sha256:" + hashlib.sha256(data).hexdigest().encode()
    return committed.startswith(b"version https://git-lfs") and pointer in committed


def is_part(old: bytes, committed: bytes, new: bytes) -> bool:
    """Whether each line is one that both have, or one of the old or the new where these differ."""
    if max(len(old), len(committed), len(new)) > LARGE:
        return False
    one, lines, other = (data.replace(b"\r\n", b"\n").splitlines() for data in (old, committed, new))
    reached = {0}
    for tag, start, end, first, last in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag == "equal":
            for line in one[start:end]:
                reached = {at + 1 for at in reached if at < len(lines) and lines[at] == line}
            continue
        for line in (*one[start:end], *other[first:last]):
            reached |= {at + 1 for at in reached if at < len(lines) and lines[at] == line}
    return len(lines) in reached


def never_in_the_tree(
    project: Project, state: WorktreeState, tree: str, found: Mapping[str, str]
) -> tuple[str, ...]:
    """Those that no call may have had in the tree, since the phase protects them; stubs and other layouts
    of the same source it may.
    """
    protected = protected_classes(state.phase)
    paths = [path for path in found if project.classify(path) in protected]
    return tuple(path for path in paths if not _is_stub(project, state, tree, path, found[path]))


def _is_stub(project: Project, state: WorktreeState, tree: str, path: str, blob: str) -> bool:
    if project.classify(path) is not PathClass.SOURCE or not blob:
        return False
    before = project.workspace.read(state.ground or tree, path)
    (after,) = trees.blobs(users_git(project.repo), [blob])
    return after is not None and more_than_stubs(project, path, before, after, tree) is None


def describe(found: Mapping[str, str]) -> tuple[str, ...]:
    """A line for each path."""
    return tuple(
        f"HEAD {'holds' if blob else 'lacks'} {path} otherwise than any tree of this worktree: "
        "the commit was made behind the tree, and nothing proves it"
        for path, blob in found.items()
    )


def remedy(found: Mapping[str, str]) -> str:
    names = " ".join(found)
    return (
        f"`git update-index --no-assume-unchanged --no-skip-worktree {names}; git add {names}; git add "
        f"--renormalize {names}; git commit --amend --no-edit`: the commit then holds what lies in the tree"
    )
