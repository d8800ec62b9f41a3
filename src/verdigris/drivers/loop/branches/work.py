"""The branch that a program works on: finds or creates it, and merges its base branch into it.

It is checked out in a private worktree, and moves there by the kernel's own `sync`. People may push to it,
rebase, merge or delete it meanwhile. Their history wins, and `refs/tdd/loop` keeps the commits it displaces.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from verdigris.core.actions import Deny
from verdigris.core.errors import UserError
from verdigris.core.records import Actor
from verdigris.core.value import value
from verdigris.drivers.loop.branches.memory import AUTHOR
from verdigris.drivers.loop.branches.remote import (
    GitRemote,
    NoBranch,
    Pushed,
    PushRefused,
    RemoteMoved,
    Tip,
    Unreachable,
    fetch_tip,
    push_commit,
)
from verdigris.drivers.private_worktree import (
    Leftover,
    ancestor,
    commit_of,
    current_branch,
    describe_changes,
    is_made,
    list_branches,
    make_worktree,
    ref,
    worktree_path,
)
from verdigris.storage.git import git
from verdigris.storage.project import Project, open_project
from verdigris.storage.repository import find_repository, in_progress
from verdigris.turns.git import author_environment, sync

BRANCHES = "autoloop/"
DRIVER = "loop"
_NOTES = "refs/tdd/loop"
"""Below it, by program: `head` and `pushed`, where the loop left the branch here and on the remote; `own`,
the commit that it pushed itself; `ignored`, a head of the remote that is not merged again; `lease`, a head of
the remote that may be replaced; `left/ID`, displaced commits.
"""
_CONFLICT = 1
"""Exit code of `git merge-tree`."""


@value
class WorkBranch:
    root: Path
    """Its private worktree."""
    branch: str
    commit: str
    base: str
    """The commit of the base branch that it contains."""
    notes: tuple[str, ...] = ()
    """What was done to prepare it, and what people did to it meanwhile."""


class BranchStuck(UserError):
    """A person has to mend the program's branch; no operation is left half done."""


def _default(root: Path, remote: GitRemote | None) -> str:
    if remote is None:
        return ""
    prefix = f"refs/remotes/{remote.name}/"
    return git(root, "symbolic-ref", "--quiet", f"{prefix}HEAD").out.strip().removeprefix(prefix)


def prepare_branch(home: Project, program: str, base: str, remote: GitRemote | None) -> WorkBranch:
    """Before an iteration: takes in what people did to the branch, then what they did to its base.

    `base`: the branch that programs build on; empty: the remote's own, else the one that is checked out.
    """
    work = _Work(home, program, remote)
    work.choose_base(base)
    work.find()
    work.take_in()
    work.follow_base()
    return WorkBranch(work.root, work.branch, work.remember(), work.base, tuple(work.notes))


def push_branch(
    home: Project, program: str, remote: GitRemote
) -> Pushed | RemoteMoved | PushRefused | Unreachable:
    """Pushes the branch. After `RemoteMoved`, call `prepare_branch` and push again."""
    root, branch, names = home.root, f"{BRANCHES}{program}", f"{_NOTES}/{program}"
    commit = commit_of(root, ref(branch))
    lease = commit_of(root, f"{names}/lease")
    pushed = push_commit(root, remote, commit, branch, lease)
    if isinstance(pushed, Pushed):
        for name in ("head", "pushed", "own"):
            _note(root, f"{names}/{name}", commit)
        for name in ("lease", "ignored"):
            git(root, "update-ref", "-d", f"{names}/{name}")
    return pushed


@dataclass
class _Work:
    home: Project
    program: str
    remote: GitRemote | None
    base_name: str = ""
    base: str = ""
    """The commit of its base branch."""
    notes: list[str] = field(default_factory=list)
    tip: Tip | NoBranch | Unreachable = field(default_factory=NoBranch)

    @property
    def branch(self) -> str:
        return f"{BRANCHES}{self.program}"

    @property
    def root(self) -> Path:
        return worktree_path(self.home.repo, DRIVER, self.program)

    def notedcommit_of(self, name: str) -> str:
        return commit_of(self.home.root, f"{_NOTES}/{self.program}/{name}")

    @property
    def now(self) -> str:
        return commit_of(self.home.root, ref(self.branch))

    def stuck(self, why: str) -> BranchStuck:
        return BranchStuck(why, hint=f"a person has to mend the branch; then `tdd loop run {self.program}`")

    def choose_base(self, wanted: str) -> None:
        """Takes the base here or on the remote, whichever is ahead."""
        root = self.home.root
        name = wanted or _default(root, self.remote) or current_branch(root)
        if not name or name.startswith(BRANCHES):
            raise UserError(
                "it is unclear which branch programs build on.", hint="`loop: {base: main}` in tdd.yaml"
            )
        self.base_name, self.base = name, commit_of(root, ref(name))
        tip = fetch_tip(root, self.remote, name) if self.remote else NoBranch()
        if isinstance(tip, Unreachable):
            self.notes.append(f"{name} could not be fetched from the remote: {tip.why}")
        elif isinstance(tip, Tip) and not (self.base and ancestor(root, tip.commit, self.base)):
            if self.base and not ancestor(root, self.base, tip.commit):
                self.notes.append(f"{name} here and on the remote went different ways: the remote's is taken")
            self.base = tip.commit
        if not self.base:
            raise self.stuck(next(iter(self.notes), f"there is no branch {name}"))

    # -- the worktree ---------------------------------------------------------------------

    def find(self) -> None:
        """Creates the branch and the worktree if they are missing."""
        if self.remote:
            self.tip = fetch_tip(self.home.root, self.remote, self.branch)
            if isinstance(self.tip, Unreachable):
                self.notes.append(f"{self.branch} could not be fetched from the remote: {self.tip.why}")
        if not self.now:
            self._begin()
        if not is_made(self.root):
            try:
                make_worktree(self.home.repo, DRIVER, self.root, self.branch, self.now)
            except UserError as error:
                raise self.stuck(error.message) from error
        if current_branch(self.root) != self.branch:
            raise self.stuck(
                f"{self.root} is not on {self.branch}: `git -C {self.root} switch {self.branch}`"
            )
        if unfinished := in_progress(open_project(self.root, Actor(client=DRIVER)).repo):
            self._move(unfinished, "--abort")

    def _begin(self) -> None:
        head = self.notedcommit_of("head")
        start = self.tip.commit if isinstance(self.tip, Tip) else self.base
        if head:
            self._keep(head)
            where = "the remote's" if isinstance(self.tip, Tip) else self.base_name
            self.notes.append(f"{self.branch} was deleted here: it begins anew from {where}")
            self._forget("head")
        if is_made(self.root) and head:  # its files are those of the old head
            git(self.home.root, "update-ref", ref(self.branch), head)
            self._move("reset", "--quiet", "--hard", start)
        else:
            git(self.home.root, "update-ref", ref(self.branch), start)

    # -- what people did to it ------------------------------------------------------------

    def take_in(self) -> None:
        if isinstance(self.tip, Tip):
            self._meet(self.tip.commit)
        elif isinstance(self.tip, NoBranch) and self.notedcommit_of("pushed"):
            self._forget("pushed")
            if self.now != self.base and not ancestor(self.root, self.now, self.base):
                self.notes.append(
                    f"{self.branch} was deleted on the remote: it begins anew from {self.base_name}"
                )
                self._restart(self.base)

    def _meet(self, tip: str) -> None:
        head, pushed = self.notedcommit_of("head"), self.notedcommit_of("pushed")
        if tip == self.notedcommit_of("ignored"):
            return
        for name in ("ignored", "lease"):  # somebody moved it
            self._forget(name)
        if ancestor(self.root, tip, self.now):
            return
        is_ahead = ancestor(self.root, self.now, tip)
        if is_ahead and tip == self.notedcommit_of("own"):
            self.notes.append(f"what was taken back on {self.branch} is given up on the remote too")
            self._give_up(tip)
        elif is_ahead:
            self.notes.append(f"{self.branch} has new commits on the remote: they are taken in")
            self._move("merge", "--quiet", "--ff-only", tip)
        elif head and not ancestor(self.root, head, self.now):
            if tip != pushed:
                raise self.stuck(f"{self.branch} was rebased here and moved on the remote: join the two")
            _note(self.home.root, f"{_NOTES}/{self.program}/ignored", tip)
            push = f"git push --force-with-lease {self.remote.name if self.remote else ''} {self.branch}"
            self.notes.append(
                f"{self.branch} was rebased here; only a person puts that on the remote: `{push}`"
            )
        elif pushed and not ancestor(self.root, pushed, tip):
            self.notes.append(f"{self.branch} was rewritten on the remote: that history is taken")
            self._restart(tip)
        else:
            self._merge(tip, f"{self.branch} of the remote")

    # -- what people did to its base ------------------------------------------------------

    def follow_base(self) -> None:
        counts = git(self.root, "rev-list", "--left-right", "--count", f"{self.base}...HEAD").out.split()
        behind, ahead = map(int, counts)
        if behind and not ahead:
            self._move("merge", "--quiet", "--ff-only", self.base)
        elif behind and is_merged(self.root, self.base, self.now):
            self.notes.append(f"{self.branch} was merged into {self.base_name}: it begins anew from there")
            if isinstance(self.tip, Tip) and ancestor(self.root, self.tip.commit, self.now):
                self._give_up(self.tip.commit)
            self._restart(self.base)
        elif behind:
            self._merge(self.base, self.base_name)

    # -- moves ----------------------------------------------------------------------------

    def _merge(self, commit: str, what: str) -> None:
        tried = git(self.root, "merge-tree", "--write-tree", "--name-only", "--no-messages", "HEAD", commit)
        if tried.code == _CONFLICT:
            raise self.stuck(f"merge conflict in {', '.join(tried.out.split(chr(10))[1:]).strip(', ')}")
        self.notes.append(f"{what} is merged into {self.branch}")
        self._move("merge", "--quiet", "--no-edit", "-m", f"Merge {what} into {self.branch}", commit)

    def _give_up(self, tip: str) -> None:
        """Lets the next push replace this head of the remote: every commit of a person in it is kept."""
        for name in ("lease", "ignored"):
            _note(self.home.root, f"{_NOTES}/{self.program}/{name}", tip)

    def _restart(self, commit: str) -> None:
        """Resets the branch to `commit`, and keeps its old head."""
        if not ancestor(self.root, self.now, commit):
            self._keep(self.now)
        self._move("reset", "--quiet", "--hard", commit)

    def _move(self, *words: str) -> None:
        project = open_project(self.root, Actor(client=DRIVER))
        moved = sync(project, words, quiet=True, env=author_environment(self.root, AUTHOR))
        if isinstance(moved, Deny):
            raise self.stuck(f"{moved.reason} ({moved.next})")
        if moved.in_progress is not None:
            files = git(self.root, "diff", "--name-only", "--diff-filter=U").out.split("\n")
            sync(project, (moved.in_progress, "--abort"), quiet=True)
            raise self.stuck(f"merge conflict in {', '.join(filter(None, files))}")
        if moved.exit_code:
            raise self.stuck(f"`git {' '.join(words)}` failed in {self.root}: {moved.said}")

    def _keep(self, commit: str) -> None:
        kept = f"{_NOTES}/{self.program}/left/{commit[:12]}"
        _note(self.home.root, kept, commit)
        self.notes.append(f"what stood there is kept: `git log {kept}`")

    def _forget(self, name: str) -> None:
        git(self.home.root, "update-ref", "-d", f"{_NOTES}/{self.program}/{name}")

    def remember(self) -> str:
        names = f"{_NOTES}/{self.program}"
        _note(self.home.root, f"{names}/head", self.now)
        if isinstance(self.tip, Tip) and self.tip.commit != self.notedcommit_of("ignored"):
            _note(self.home.root, f"{names}/pushed", self.tip.commit)
        return self.now


def is_merged(root: Path, base: str, branch: str) -> bool:
    """Whether the base has all changes of the branch, perhaps squashed or rebased."""
    tried = git(root, "merge-tree", "--write-tree", base, branch)
    if tried.code == 0 and tried.out.split("\n")[0] == _tree(root, base):
        return True
    picked = git(root, "cherry", base, branch).out.splitlines()
    if picked and all(line.startswith("-") for line in picked):
        return True
    whole = _patch_ids(root, git(root, "diff", f"{base}...{branch}").out)
    return bool(whole) and whole <= _patch_ids(root, git(root, "log", "-p", f"{branch}..{base}").out)


def _patch_ids(root: Path, patches: str) -> frozenset[str]:
    said = git(root, "patch-id", "--stable", stdin=patches).out.splitlines()
    return frozenset(line.split()[0] for line in said if line)


def _tree(root: Path, commit: str) -> str:
    return git(root, "rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}").out.strip()


def _note(root: Path, name: str, commit: str) -> None:
    if commit_of(root, name) != commit:
        git(root, "update-ref", name, commit)


def leftovers(root: Path) -> tuple[Leftover, ...]:
    """Lists the private worktrees of programs; their branches stay."""
    repo = find_repository(root)
    return tuple(
        Leftover(
            f"the loop's worktree of {branch} in {place} (the branch stays)", describe_changes(place), place
        )
        for branch, place in list_branches(root, BRANCHES)
        if place and place == str(worktree_path(repo, DRIVER, branch.removeprefix(BRANCHES)))
    )
