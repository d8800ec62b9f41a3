"""Puts protected paths back, and moves HEAD, index and files back together."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from verdigris.core.events import MovedBack, MovingBack, PutBack, PuttingBack, Violation
from verdigris.core.records import from_json, to_json
from verdigris.core.value import field, value
from verdigris.storage.intents import carries_out
from verdigris.storage.repository import Repository, head, read_plain, resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from verdigris.storage.git import Git
    from verdigris.storage.project import Project
    from verdigris.storage.snapshots.restoration import Displaced


def put_back(
    project: Project, tree: str, paths: Sequence[str], *, why: str, by: Iterable[str] = ()
) -> tuple[Displaced, ...]:
    """Lay `paths` as in `tree`; what `tree` does not have goes. The caller holds the operation.

    `by`: the agents that may have changed them.

    Files keep their inodes, so that a mount over them stays. Each path becomes a violation, which names the
    blob of the bytes that had to make way.
    """
    if not paths:
        return ()
    intent = PuttingBack(tree=tree, paths=tuple(paths), why=why, by=tuple(sorted(by)))
    # Before the intent: what an earlier call displaced is in the log already.
    project.workspace.forget_laying()
    project.record(intent, sync=True)
    return carry_out_put_back(project, intent)


@carries_out(PuttingBack, "finished putting protected paths back")
def carry_out_put_back(project: Project, intent: PuttingBack) -> tuple[Displaced, ...]:
    """The effect of an intent that is in the log, and its outcome. Safe to repeat."""
    from verdigris.storage.snapshots.restoration import list_displaced

    displaced = project.workspace.lay(intent.tree, intent.paths, expect=intent.tree)
    blobs = {found.path: found.blob for found in displaced}
    violations = (
        Violation(path=path, what=intent.why, displaced=blobs.get(path, ""), by=intent.by)
        for path in dict.fromkeys((*intent.paths, *blobs))
    )
    outcome = PutBack(paths=intent.paths, displaced=list_displaced(displaced))
    project.record(outcome, *violations, sync=True)
    return displaced


BEGUN = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply")
UNFINISHED = (*BEGUN, "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE", "SQUASH_MSG", "sequencer")
"""Files and folders of a merge, rebase … that waits for the user."""
STASH = "refs/stash"
WHY = "tdd: moved back, whole"


@value
class GitPosition:
    """Where git stands in one worktree."""

    head: str
    """The bytes of HEAD: a branch or a commit."""
    commit: str | None
    """None when unborn."""
    stash: str | None = None
    unfinished: Mapping[str, str] = field(default_factory=dict)
    """File below the git folder → blob in the kernel's store."""
    index: str = ""
    """Blob in the kernel's store; empty where there is no index."""
    index_look: tuple[int, ...] = ()
    """Stamp of the index, so that it is read only when it changed."""
    set_out: tuple[int, ...] = ()
    """Stamp of ORIG_HEAD: a merge or rebase writes it before it begins."""
    touched: int = 0
    """When the git folder was last touched: git takes a lock there for every move, failed ones too."""

    @property
    def begun(self) -> frozenset[str]:
        return frozenset(path.split("/")[0] for path in self.unfinished).intersection(BEGUN)

    def same(self, other: GitPosition) -> bool:
        """Whether nothing moved; the index alone may differ."""
        return (self.head, self.commit, self.stash, self.unfinished, self.touched) == (
            other.head,
            other.commit,
            other.stash,
            other.unfinished,
            other.touched,
        )


def place(project: Project, known: GitPosition | None = None) -> GitPosition:
    """Where git stands now. The index goes to the store, unless its stamp is as in `known`."""
    repo = project.repo
    looks = _look(repo.git_dir / "index")
    if known is not None and known.index_look == looks:
        index = known.index
    else:
        index = project.workspace.blob(read_plain(repo.git_dir / "index")) if looks else ""
    return GitPosition(
        os.fsdecode(read_plain(repo.git_dir / "HEAD")),
        head(repo).commit,
        resolve(repo, STASH),
        {name: project.workspace.blob(data) for name, data in _unfinished_state(repo).items()},
        index,
        looks,
        _look(repo.git_dir / "ORIG_HEAD"),
        repo.git_dir.stat().st_mtime_ns,
    )


_MERGED = re.compile(r"Merge (?:branch|tag|commit|remote-tracking branch) '([^']+)'")
_STEPS = (
    (re.compile(r"merge (\S+): "), ("merge",)),
    (re.compile(r"checkout: moving from \S+ to (\S+)"), ("checkout",)),
    (re.compile(r"rebase \(start\): checkout (\S+)"), ("rebase",)),
    (re.compile(r"reset: moving to (\S+)"), ("reset", "--hard")),
    (re.compile(r"pull(?: [^:()]+)?(?: \(start\))?: ()"), ("pull",)),
)
"""What git writes into the reflog of HEAD, and the words of the command that did it."""


def command_of_move(repo: Repository, before: GitPosition, now: GitPosition) -> tuple[str, ...]:
    """The words of the git command that moved, by what git wrote down about it; none if it wrote nothing."""
    if before.stash != now.stash:
        return (
            ("stash",)
            if now.stash and now.stash != before.stash and before.stash is None
            else ("stash", "pop")
        )
    begun = now.begun - before.begun
    if "MERGE_HEAD" in begun:
        merged = _MERGED.search(_plain_text(repo, "MERGE_MSG"))
        return ("merge", merged[1] if merged else _plain_text(repo, "MERGE_HEAD").strip())
    for mark, verb in (("CHERRY_PICK_HEAD", ("cherry-pick",)), ("REVERT_HEAD", ("revert", "--no-edit"))):
        if mark in begun:
            return (*verb, _plain_text(repo, mark).strip())
    if (before.head, before.commit) == (now.head, now.commit):
        return ()
    for line in reversed(_plain_text(repo, "logs/HEAD").splitlines()):
        ids, _, message = line.partition("\t")
        for pattern, words in _STEPS:
            if found := pattern.match(message):
                return (*words, *filter(None, found.groups()))
        if ids.startswith(before.commit or " "):
            break
    return ()


def _plain_text(repo: Repository, name: str) -> str:
    try:
        return os.fsdecode(read_plain(repo.git_dir / name))
    except OSError:
        return ""


def watched_files(repo: Repository) -> list[bytes]:
    """The files whose stat tells whether git moved, also those that do not exist."""
    now = os.fsdecode(read_plain(repo.git_dir / "HEAD")).strip()
    refs = [STASH, *([now.removeprefix("ref: ")] if now.startswith("ref: ") else [])]
    own = ("HEAD", "index", *BEGUN)
    places = [*(repo.git_dir / name for name in own), *(repo.common_dir / ref for ref in refs)]
    return [os.fsencode(path) for path in (*places, repo.common_dir / "packed-refs")]


def move_back(
    project: Project, to: GitPosition, tree: str, paths: Iterable[str], found: str
) -> tuple[str, ...]:
    """The caller holds the operation; `paths` of `tree` are what the move had changed or would have."""
    intent = MovingBack(place=to_json(to), tree=tree, paths=tuple(sorted(paths)), found=found)
    project.record(intent, sync=True)
    carry_out_move_back(project, intent)
    return intent.paths


@carries_out(MovingBack, "finished moving HEAD, index and files back")
def carry_out_move_back(project: Project, intent: MovingBack) -> None:
    """The effect of an intent that is in the log, and its outcome. Safe to repeat."""
    from verdigris.storage.git import users_git
    from verdigris.storage.snapshots.restoration import list_displaced

    to = from_json(GitPosition, intent.place)
    displaced = project.workspace.lay(intent.tree, intent.paths, expect=intent.found)
    git = users_git(project.repo)
    _move_head(git, to)
    _finish_as_before(project, to)
    if to.index:
        _write_back(project, project.repo.git_dir / "index", to.index)
    _move_stash(project.repo, git, to.stash)
    project.record(MovedBack(displaced=list_displaced(displaced)), sync=True)


def stashes(git: Git) -> list[str]:
    """The newest first; there must be one."""
    return os.fsdecode(git.run("rev-list", "--walk-reflogs", STASH, "--")).split()


def same_entries(project: Project, one: GitPosition, other: GitPosition) -> bool:
    """Whether two indexes hold the same, however their files looked."""
    return one.index == other.index or _entries(project, one) == _entries(project, other)


def _entries(project: Project, at: GitPosition) -> bytes:
    from verdigris.storage.git import users_git

    draft = project.repo.private / "moves-index"
    draft.write_bytes(project.workspace.blob_bytes(at.index) or b"")
    return users_git(project.repo).with_index(draft).run("ls-files", "--stage", "-z")


def _move_head(git: Git, to: GitPosition) -> None:
    """The branch that HEAD was on goes back as well; the reflog keeps where both have been."""
    name = to.head.strip()
    if not name.startswith("ref: "):
        git.run("update-ref", "-m", WHY, "--no-deref", "HEAD", name)
        return
    branch = name.removeprefix("ref: ")
    if to.commit is None:
        git.run("update-ref", "-d", branch)
    else:
        git.run("update-ref", "-m", WHY, branch, to.commit)
    git.run("symbolic-ref", "-m", WHY, "HEAD", branch)


def _finish_as_before(project: Project, to: GitPosition) -> None:
    import shutil

    folder = project.repo.git_dir
    for name in UNFINISHED:
        if (folder / name).is_dir() and not (folder / name).is_symlink():
            shutil.rmtree(folder / name)
        else:
            (folder / name).unlink(missing_ok=True)
    for name, blob in to.unfinished.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        _write_back(project, folder / name, blob)


def _move_stash(repo: Repository, git: Git, to: str | None) -> None:
    now = resolve(repo, STASH)
    if now == to:
        return
    listed = stashes(git) if now else []
    if to is None:
        git.run("update-ref", "-d", STASH)
    elif to in listed:
        for _ in listed[: listed.index(to)]:
            git.run("reflog", "delete", "--updateref", "--rewrite", f"{STASH}@{{0}}")
    else:
        git.run("stash", "store", "-m", WHY, to)


def _unfinished_state(repo: Repository) -> dict[str, bytes]:
    found = {}
    for name in UNFINISHED:
        top = repo.git_dir / name
        if top.is_symlink():
            continue
        files = [p for p in top.rglob("*") if p.is_file()] if top.is_dir() else [top]
        for file in files:
            if file.is_file():
                found[os.fspath(file.relative_to(repo.git_dir))] = read_plain(file)
    return found


def _look(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return (found.st_ctime_ns, found.st_ino, found.st_size)


def _write_back(project: Project, path: Path, blob: str) -> None:
    """Writes through a draft where no agent can write: a link in its place could lead our bytes anywhere."""
    draft = project.repo.private / "moves-draft"
    draft.write_bytes(project.workspace.blob_bytes(blob) or b"")
    draft.replace(path)
