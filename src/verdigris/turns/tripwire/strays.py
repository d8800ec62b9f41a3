"""Finds protected paths that changed, with the content to put back, and undoes git moves that touched any."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from verdigris.checks.observation import difference, is_layout
from verdigris.checks.source_edits import CONFLICT, find_edits
from verdigris.checks.unproven_commits import COMMITTED, find_unproven, never_in_the_tree
from verdigris.core.confinement.protection import protected_classes
from verdigris.core.events import Violation
from verdigris.core.paths import LINK, Change, Entry, PathClass
from verdigris.core.policy.actors import claimers
from verdigris.core.state import Phase, WorktreeState
from verdigris.core.value import field, replace, value
from verdigris.languages.registry import holds_tests, is_mixed
from verdigris.storage.git import users_git
from verdigris.storage.paths import among
from verdigris.storage.repository import Head
from verdigris.storage.snapshots import head_moves
from verdigris.storage.snapshots.trees import Trees
from verdigris.turns.claim_check import fellows
from verdigris.turns.rollback import (
    GitPosition,
    command_of_move,
    move_back,
    place,
    same_entries,
    stashes,
)
from verdigris.turns.tripwire import TripwireMemory, base, recall, remember
from verdigris.turns.tripwire.repositories import is_of_a_repository

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verdigris.storage.project import Project


LOOKING = 20.0
"""Seconds for reading what changed in red: a client gives a hook no more than a minute."""
_ORDER = tuple(PathClass)


@value
class Strays:
    """Paths of one class, and the tree in which they are right."""

    cls: PathClass
    paths: tuple[str, ...]
    home: str
    link: bool = False
    """The first path is a link that leads out of the worktree, or stands where a folder was."""


def strays(
    project: Project, state: WorktreeState, memory: TripwireMemory | None, tree: str
) -> tuple[Strays, ...]:
    """Changed protected paths by class, the most protected first.

    Also, while several agents share a green phase, source: no claim covers what another agent writes.
    """
    compared = _Comparison(project, state, memory, tree)
    alone = (*compared.links(), *compared.spec_of_cycle())
    behind = frozenset(path for s in alone for path in s.paths)
    found = [*compared.switches(), *compared.of_phase()]
    classes = {cls: [s for s in found if s.cls is cls] for cls in PathClass}
    apart = (
        Strays(cls, tuple(path for s in alike for path in s.paths if path not in behind), alike[0].home)
        for cls, alike in classes.items()
        if alike
    )
    return (*alone, *(s for s in apart if s.paths))


@value
class _Comparison:
    """A tree, compared with the memory and with the tree that the phase goes by."""

    project: Project
    state: WorktreeState
    memory: TripwireMemory | None
    tree: str

    def switches(self) -> Iterator[Strays]:
        """Changed switches. The kernel itself changes none, except by `tdd sync`."""
        if self.memory is None:
            return
        changes = self._changes(self.memory.tree)
        changed = [
            c.path
            for c in changes
            if self.project.classify(c.path) is PathClass.SWITCH or is_of_a_repository(self.project, c.path)
        ]
        if paths := self._unlike_base(changed):
            yield Strays(PathClass.SWITCH, paths, self.memory.tree)

    def links(self) -> Iterator[Strays]:
        """New links, each with the files that stood in its place."""
        home = self._home()
        if home is None:
            return
        changes = self._changes(home)
        new = [c.path for c in changes if c.new_mode == LINK]
        out = {link.path: link.cls for link in among(self.project, new)} if new else {}
        for path in new:
            gone = [c.path for c in changes if c.path.startswith(f"{path}/")]
            classes = {self.project.classify(p) for p in gone} - {PathClass.OTHER}
            if path in out or classes:
                yield Strays(out.get(path) or min(classes, key=_ORDER.index), (path, *gone), home, link=True)

    def spec_of_cycle(self) -> Iterator[Strays]:
        """The cycle's spec: no stage writes it, although red lets everybody write other specs."""
        cycle = self.state.open_cycle
        if cycle is None:
            return
        trees = (cycle.tree, self.memory.tree if self.memory else cycle.tree)
        if all(any(c.path == cycle.spec_path for c in self._changes(known)) for known in trees):
            yield Strays(PathClass.SPEC, (cycle.spec_path,), cycle.tree)

    def of_phase(self) -> Iterator[Strays]:
        home = self._home()
        if home is None:
            return
        wanted = protected_classes(self.state.phase)
        changed: dict[PathClass, list[str]] = {cls: [] for cls in PathClass}
        since = difference(self.project, home, self.tree)
        if PathClass.SOURCE in wanted:
            edits = find_edits(self.project, since.source, self.tree, seconds=LOOKING)
            # A file that could not be read in time counts as an edit.
            edited = [*(edit.path for edit in edits.found), *edits.unread]
            changed[PathClass.SOURCE] = self._without_resolved(edited, home)
        elif paths := self._source_of_others(since.source):
            yield Strays(PathClass.SOURCE, paths, home)
        if self.state.phase is not Phase.RED:
            for path in since.oracle:
                cls = self.project.classify(path)
                changed[PathClass.TEST if holds_tests(path, cls) else cls].append(path)
            wanted |= {PathClass.OTHER}
        for cls in wanted - {PathClass.SWITCH}:
            if paths := self._unlike_base(changed[cls]):
                yield Strays(cls, paths, home)

    def _without_resolved(self, paths: list[str], home: str) -> list[str]:
        """Leaves out files that had the marks of a conflict and now equal the ground but for stubs."""
        ground = self.state.ground
        held = self.project.workspace.read_many(home, paths)
        conflicts = {path for path, data in held.items() if CONFLICT in (data or b"")}
        if not conflicts or ground is None:
            return paths
        resolved = [c for c in self._changes(ground) if c.path in conflicts]
        edits = find_edits(self.project, resolved, self.tree, seconds=LOOKING)
        left = {*(edit.path for edit in edits.found), *edits.unread}
        return [path for path in paths if path in left or path not in conflicts]

    def _source_of_others(self, source: Sequence[Change]) -> tuple[str, ...]:
        """Source that changed since the last look, while several agents share a turn."""
        known = self.memory is not None and self._home() == self.memory.tree
        if not source or not known or not shares_turn(self.project, self.state):
            return ()
        return tuple(change.path for change in source if not is_layout(self.project, change))

    def _changes(self, before: str) -> Sequence[Change]:
        return self.project.workspace.changes(before, self.tree) if before != self.tree else ()

    def _home(self) -> str | None:
        """The tree to compare with: the one that was remembered, or the one that the phase goes by."""
        known, memory = base(self.state), self.memory
        if known is None or memory is None or not _holds(memory, self.state):
            return known
        return memory.tree

    def _unlike_base(self, paths: list[str]) -> tuple[str, ...]:
        """The paths that differ from the tree that the phase goes by, whoever changed them."""
        known = base(self.state)
        if known is None or not paths:
            return tuple(paths)
        differing = {change.path for change in self.project.workspace.changes(known, self.tree)}
        return tuple(path for path in paths if path in differing)


def shares_turn(project: Project, state: WorktreeState) -> bool:
    """Whether another agent is at work beside one whose claims alone are open."""
    by = claimers(state)
    return bool(by) and len({project.context, *fellows(project)} - {""} | by) > 1


def _holds(memory: TripwireMemory, state: WorktreeState) -> bool:
    """Whether the memory is still valid: a claim made since froze another oracle."""
    if memory.base == base(state):
        return memory.phase is state.phase
    return memory.phase is state.phase is not Phase.GREEN


LOOKED_AT = 50
"""Commits, the youngest of all branches first, to which a move may have failed."""


@value
class _Move:
    wanted: dict[str, Change]
    """The changes that it should have made to the files."""
    saved: dict[str, Change] = field(default_factory=dict)
    """What a stash took out of the files: their bytes before are the change's old side."""
    by: frozenset[str] = frozenset()
    """Its steps, as git names them in the reflog."""


def undo_moves(project: Project, *, waits: bool = False) -> bool:
    """Where protected paths did not follow, HEAD, index and files go back; HEAD and index also from a commit
    that holds protected paths as no tree did. The caller holds the operation.

    A move that may stay is remembered, so that it is looked at once. `waits`: a call of another agent is
    open, which may be in the middle of the move: nothing goes back. Returns whether a move is left for that.
    """
    memory = recall(project)
    if memory is None:
        return False
    now = place(project, memory.place)
    if now.same(memory.place):
        return False
    tree = project.workspace.snapshot()
    move = _move(project, memory, now, tree)
    state = project.state()
    hit = _hit(project, memory, move, tree) if move.wanted else ()
    strayed = {path for s in strays(project, state, memory, tree) for path in s.paths}
    since = memory.proven if memory.unproven else memory.place.commit
    rightly = project.workspace.graft(tree, memory.tree, strayed)
    unproven = {} if hit else find_unproven(project, state, (rightly, memory.tree), since)
    behind = never_in_the_tree(project, state, rightly, unproven)
    if not hit and not behind:
        kept = project.workspace.graft(memory.tree, tree, move.wanted)
        known = replace(memory, tree=kept, place=now, unproven=unproven, proven=since, unmoved=False)
        remember(project, known)
        return False
    if waits:
        remember(project, replace(memory, unmoved=True))
        return True
    # After a commit alone, what strayed is left to whoever looks at the tree next.
    paths = move.wanted.keys() | (strayed if hit else set())
    target = project.workspace.graft(tree, memory.tree, paths)
    target = project.workspace.compose(target, _from_stash(project, move))
    project.record(*(Violation(path=path, what=COMMITTED) for path in behind))
    tried = command_of_move(project.repo, memory.place, now) if hit else ()
    move_back(project, memory.place, target, paths, tree)
    there = place(project, memory.place)
    remember(project, replace(memory, place=there, moved=hit, tried=tried, undone=behind, unmoved=False))
    return False


def _hit(project: Project, memory: TripwireMemory, move: _Move, tree: str) -> tuple[str, ...]:
    """The protected paths that did not follow, or were changed."""
    state = project.state()
    guarded = protected_classes(state.phase)
    strayed = {path for s in strays(project, state, memory, tree) for path in s.paths}
    clean = head_moves.clean(project.repo, users_git(project.repo), move.wanted.values())
    if move.by == {"reset"} and not clean:
        # Soft or mixed: no file was meant to follow.
        return ()
    return tuple(
        path
        for path in sorted(move.wanted)
        if (project.classify(path) in guarded and (path in strayed or path not in clean))
        or (path in strayed and is_mixed(path, project.classify(path)))
    )


def _move(project: Project, memory: TripwireMemory, now: GitPosition, tree: str) -> _Move:
    before, git = memory.place, users_git(project.repo)
    if before.stash != now.stash:
        return _stash_move(project, before, now)
    if now.begun - before.begun and now.commit:
        wanted = (
            *head_moves.changes_between(git, before.commit, now.commit),
            *Trees(git).staged_changes(now.commit),
        )
    elif before.commit == now.commit:
        wanted = _half_carried(project, memory, now, tree) if before.touched != now.touched else ()
    elif head_moves.move_since(project.repo, Head(None, before.commit)).kind == "commit":
        wanted = ()
    else:
        wanted = head_moves.changes_between(git, before.commit, now.commit)
    by = head_moves.actions_since(project.repo, before.commit) if before.commit != now.commit else frozenset()
    return _Move({change.path: change for change in wanted}, by=by)


def _stash_move(project: Project, before: GitPosition, now: GitPosition) -> _Move:
    git = users_git(project.repo)
    head = head_moves.changes_between(git, before.commit, now.commit) if before.commit != now.commit else ()
    wanted = {change.path: change for change in head}
    if now.stash and (before.stash is None or before.stash in stashes(git)):
        saved = {
            change.path: change for change in head_moves.changes_between(git, now.stash, f"{now.stash}^1")
        }
        saved |= _untracked_in_stash(project, now.stash)
        return _Move(wanted | saved, saved)
    popped = head_moves.changes_between(git, f"{before.stash}^1", before.stash)
    return _Move(wanted | {change.path: change for change in popped})


def _untracked_in_stash(project: Project, stash: str) -> dict[str, Change]:
    if users_git(project.repo).call("rev-parse", "--verify", "--quiet", f"{stash}^3").code != 0:
        return {}
    listed = head_moves.list_commit(project.repo, f"{stash}^3").files
    return {entry.path: Change(entry.path, entry.mode, entry.blob, None, None) for entry in listed}


def _half_carried(
    project: Project, memory: TripwireMemory, now: GitPosition, tree: str
) -> tuple[Change, ...]:
    """What a move wanted that failed on its way: HEAD and index stayed, yet files are those of a commit.

    All that are not protected, that is; a merge takes back what it changed, and leaves what it added.
    """
    git, at = users_git(project.repo), now.commit
    changed = {c.path for c in project.workspace.changes(memory.tree, tree)}
    if at is None or not changed or not same_entries(project, memory.place, now):
        return ()
    guarded = protected_classes(project.state().phase)
    listed = git.run("rev-list", "--all", "--reflog", f"--max-count={LOOKED_AT}")
    for commit in os.fsdecode(listed).split():
        wanted = head_moves.changes_between(git, at, commit)
        free = {change.path: change for change in wanted if project.classify(change.path) not in guarded}
        left = {path: change for path, change in free.items() if change.added}
        for files in (free, left if memory.place.set_out != now.set_out else {}):
            if len(free) == len(wanted) or not files or not changed.issuperset(files):
                continue
            if head_moves.clean(project.repo, git, files.values()) == files.keys():
                return wanted
    return ()


def _from_stash(project: Project, move: _Move) -> dict[str, tuple[str, bytes] | None]:
    contents: dict[str, tuple[str, bytes] | None] = {}
    for path, change in move.saved.items():
        if change.old_mode is None or change.old is None:
            contents[path] = None
        else:
            entry = Entry(path, change.old_mode, change.old)
            contents[path] = (change.old_mode, head_moves.read_as_checked_out(project.repo, entry))
    return contents
