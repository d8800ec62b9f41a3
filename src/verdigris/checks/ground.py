"""The ground of a worktree: what git has, and on top of it what was accepted and nobody has committed yet.

Nothing is recorded here (ADR 38).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.errors import StorageError
from verdigris.core.ground import Side, Versions, choose_side, is_nearer
from verdigris.core.paths import Entry, PathClass
from verdigris.core.records import AGENT
from verdigris.core.state import Earned, Phase, WorktreeState
from verdigris.core.value import value
from verdigris.storage.git import users_git
from verdigris.storage.repository import head

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from verdigris.storage.project import Project

_MENDED_AT_ONCE = 50


def follow_git(project: Project, state: WorktreeState) -> str:
    """The ground as a person's git leaves it; nothing is recorded."""
    tree, now = project.workspace.snapshot(), head(project.repo)
    if state.ground is None:
        return first_ground(project)
    paths = {change.path for change in project.workspace.changes(state.ground, tree)}
    then = state.head.commit if state.head else None
    if then != now.commit:
        from verdigris.storage.snapshots import head_moves

        paths.update(c.path for c in head_moves.changes_between(users_git(project.repo), then, now.commit))
    if not paths:
        return state.ground
    earned = state.earned or Earned(state.ground, then)
    return _Sources(project, state, earned, tree, now.commit).compose(state.ground, paths)


@value
class _Sources:
    """Where the ground of a path may be found."""

    project: Project
    state: WorktreeState
    earned: Earned
    tree: str
    commit: str | None

    def compose(self, ground: str, paths: set[str]) -> str:
        """The ground, with each of `paths` as it is by now."""
        held, base = self._committed(self.commit, paths), self._committed(self.earned.commit, paths)
        clean = self.find_clean(held, paths)
        sides = self._choose(held, base, clean, paths)
        space = self.project.workspace
        before = space.entries(ground, paths)
        lying, contents = list[str](), dict[str, tuple[str, bytes] | None]()
        for path, side in sides.items():
            committed = held.get(path)
            if side is Side.TREE or (side is Side.HEAD and path in clean):
                lying.append(path)
            elif side is Side.HEAD and before.get(path) != committed:
                contents[path] = _read(self.project, committed)
            elif side is Side.MERGED:
                left = before.get(path) == committed
                contents[path] = self._merge(path, _read(self.project, committed), base.get(path), left=left)
        edited = {path for path, side in sides.items() if side is not Side.TREE and path not in clean}
        lying += self._find_mended(before, contents, edited)
        return space.compose(space.graft(ground, self.tree, lying), contents)

    def _find_mended(
        self,
        before: Mapping[str, Entry],
        contents: dict[str, tuple[str, bytes] | None],
        edited: set[str],
    ) -> list[str]:
        """Source whose ground would not parse: no test can be red on it, so a person mends it first.

        Where the ground at this HEAD parses already, it stays. Who edits very many files at once mends no
        syntax error.
        """
        is_at_head = self.state.head is not None and self.state.head.commit == self.commit
        source = {path for path in edited if self.project.classify(path) is PathClass.SOURCE}
        too_many = len(source) > _MENDED_AT_ONCE and not self.state.unloaded
        if self.project.actor.role == AGENT or self.state.phase is not Phase.RED or too_many:
            return []
        mended = []
        for path in source:
            was = before.get(path)
            text = self.project.workspace.blob_bytes(was.blob) if was is not None else None
            planned = contents.get(path, ("", text))
            if planned is None or planned[1] is None or _parses(path, planned[1]):
                continue
            if contents.pop(path, None) is None or not is_at_head or text is None or not _parses(path, text):
                mended.append(path)
        return mended

    def _choose(
        self, held: Mapping[str, Entry], base: Mapping[str, Entry], clean: frozenset[str], paths: set[str]
    ) -> dict[str, Side]:
        entries = self.project.workspace.entries
        here, accepted = entries(self.tree, paths), entries(self.earned.tree, paths)
        earlier = [entries(tree, paths) for tree in self.state.grounds.get(self.commit or "", ())]
        inside = self._submodules()
        is_red = self.state.phase is Phase.RED
        stays = self.state.head is not None and self.state.head.commit == self.commit
        by_agent = self.project.actor.role == AGENT and stays
        classes = {path: self.project.classify(path) for path in paths}
        return {
            path: Side.TREE
            if path.startswith(inside)
            else choose_side(
                Versions(
                    tree=_name(here.get(path)),
                    head=_name(here.get(path) if path in clean else held.get(path)),
                    accepted=_name(accepted.get(path)),
                    base=_name(base.get(path)),
                    once_accepted=any(_name(tree.get(path)) == _name(here.get(path)) for tree in earlier),
                    unearned=self.is_unearned(path, held.get(path)),
                    source=is_red and classes[path] is PathClass.SOURCE,
                    unattributed=by_agent and classes[path] is not PathClass.SOURCE,
                )
            )
            for path in paths
        }

    def is_unearned(self, path: str, held: Entry | None) -> bool:
        return self.state.unearned.get(path) == ("" if held is None else held.blob)

    def _committed(self, commit: str | None, paths: set[str]) -> dict[str, Entry]:
        """Those of `paths` that a commit has; a commit that is gone has none."""
        from verdigris.storage.snapshots import head_moves

        return head_moves.entries_at(self.project.repo, commit, paths)

    def find_clean(self, held: Mapping[str, Entry], paths: set[str]) -> frozenset[str]:
        """Those of `paths` that lie there as HEAD has them, also by the user's conversions."""
        here = self.project.workspace.entries(self.tree, paths)
        same = {path for path in paths if _name(here.get(path)) == _name(held.get(path))}
        other = [held[path] for path in paths - same if path in held and path in here]
        from verdigris.storage.snapshots import head_moves

        if not other or not head_moves.may_convert(self.project.repo, (entry.path for entry in other)):
            return frozenset(same)
        try:
            return frozenset(same | head_moves.clean_entries(self.project.repo, other))
        except StorageError:
            return frozenset(same)  # a filter of the user's, or git itself, fails: bytes decide

    def _merge(
        self, path: str, held: tuple[str, bytes] | None, base: Entry | None, *, left: bool
    ) -> tuple[str, bytes] | None:
        """What was accepted, laid onto HEAD; HEAD's version if these conflict, or the worktree is nearer.

        `left`: a person had been seen to throw it away.
        """
        space = self.project.workspace
        accepted = space.entries(self.earned.tree, [path]).get(path)
        if accepted is None:
            return held
        old, now = _read(self.project, base), held[1] if held else None
        merged = space.merge_bytes(old and old[1], now, space.blob_bytes(accepted.blob))
        if merged is None or self._is_given_up(path, accepted, (merged, now or b""), left=left):
            return held
        return accepted.mode, merged

    def _is_given_up(self, path: str, accepted: Entry, sides: tuple[bytes, bytes], *, left: bool) -> bool:
        """Whether a person left it behind: it is committed elsewhere, or source was edited without it.

        `sides`: merged, and as HEAD has it.
        """
        from verdigris.storage.snapshots import head_moves

        if self.project.classify(path) is PathClass.SOURCE:
            text = self.project.workspace.read(self.tree, path) or b""
            return is_nearer(text, sides[1], sides[0]) if left else not is_nearer(text, *sides)
        return head_moves.made_since(self.project.repo, self.earned.commit).get(path) == accepted

    def _submodules(self) -> tuple[str, ...]:
        """Folders whose files are another repository's: they are taken as they stand."""
        if self.commit is None or not (self.project.root / ".gitmodules").exists():
            return ()
        from verdigris.storage.snapshots import head_moves

        listed = head_moves.list_commit(self.project.repo, self.commit).submodules
        return tuple(f"{submodule}/" for submodule in listed)


def held_by_git(
    project: Project, state: WorktreeState, commit: str | None, tree: str, paths: Iterable[str]
) -> dict[str, tuple[str, bytes] | None]:
    """Those of `paths` that a person's commits since `commit` changed, with HEAD's content.

    To a person also those that `tree` has as HEAD has them.
    """
    from verdigris.storage.snapshots import head_moves

    wanted = set(paths)
    now = head(project.repo).commit
    held = head_moves.entries_at(project.repo, now, wanted)
    then = held if commit == "" else head_moves.entries_at(project.repo, commit, wanted)
    sources = _Sources(project, state, Earned("", commit), tree, now)
    clean = frozenset() if project.actor.role == AGENT else sources.find_clean(held, wanted)
    return {
        path: _read(project, held.get(path))
        for path in wanted
        if (path in clean or _name(then.get(path)) != _name(held.get(path)))
        and not sources.is_unearned(path, held.get(path))
    }


def _parses(path: str, data: bytes) -> bool:
    from verdigris.languages.registry import reader_of

    return reader_of(path).tests.parses(path, data.decode("utf-8", "surrogateescape"))


def _name(entry: Entry | None) -> str | None:
    return None if entry is None else f"{entry.mode} {entry.blob}"


def first_ground(project: Project, committed: frozenset[PathClass] = frozenset({PathClass.SOURCE})) -> str:
    """The tree as it stands, but these classes as committed: what was edited here before we came is no
    ground.
    """
    tree = project.workspace.snapshot()
    commit = _first_commit(project)
    if commit is None:
        return tree
    from verdigris.storage.snapshots import head_moves

    listed = head_moves.list_commit(project.repo, commit)
    held = {e.path: e for e in listed.files if project.classify(e.path) in committed}
    inside = tuple(f"{submodule}/" for submodule in listed.submodules)
    here = {e.path for e in project.workspace.files(tree) if project.classify(e.path) in committed}
    clean = head_moves.clean_entries(project.repo, held.values())
    edited = {p for p in here | held.keys() if p not in clean and not p.startswith(inside)}
    return project.workspace.compose(tree, {p: _read(project, held.get(p)) for p in sorted(edited)})


def _first_commit(project: Project) -> str | None:
    """HEAD; where an agent looks at a worktree that was added under the law, without commits made in it."""
    is_added = project.log.state().worktrees.keys() - {project.repo.worktree}
    if project.actor.role != AGENT or not is_added:
        return head(project.repo).commit
    from verdigris.storage.snapshots import head_moves

    (first,) = project.log.records(limit=1)
    return head_moves.before_own_commits(project.repo, first.ts // 1000)


def _read(project: Project, entry: Entry | None) -> tuple[str, bytes] | None:
    """Reads a committed version as a checkout would write it."""
    from verdigris.storage.snapshots import head_moves

    return None if entry is None else (entry.mode, head_moves.read_as_checked_out(project.repo, entry))
