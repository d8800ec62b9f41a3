"""Compares trees: edits that no claim covers, changes of the oracle, reds whose tests are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.events import GateInstalled, RedsEnded
from verdigris.core.paths import Change, PathClass
from verdigris.core.test_ids import split_id
from verdigris.core.value import value
from verdigris.storage.repository import head

if TYPE_CHECKING:
    from verdigris.core.actions import Unclaimed
    from verdigris.core.state import WorktreeState
    from verdigris.execution.room import Layer
    from verdigris.storage.project import Project

_INSTALLED = GateInstalled.kind()
ORACLE = frozenset({PathClass.TEST, PathClass.SPEC, PathClass.SWITCH})


@value
class TreeDifference:
    """Two trees, apart by class."""

    source: tuple[Change, ...]
    oracle: tuple[str, ...]
    """Test, spec and switch paths, and mixed files whose runner keys or tests differ."""
    other: tuple[Change, ...]

    @property
    def protected(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.oracle, *(c.path for c in self.source))))


@value
class Candidate:
    """What a verdict is about: a tree with its edits, and the tree that they began with."""

    project: Project
    start: str
    tree: str
    edits: TreeDifference
    room: Layer | None = None
    """In which its tests run, where a sandbox can be made."""

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(c.path for c in (*self.edits.source, *self.edits.other))


def difference(project: Project, old: str, new: str) -> TreeDifference:
    if old == new:
        return TreeDifference((), (), ())
    from verdigris.checks.source_edits import parts_differ

    source: list[Change] = []
    oracle: list[str] = []
    other: list[Change] = []
    for change in project.workspace.changes(old, new):
        cls = project.classify(change.path)
        if cls is PathClass.SWITCH and _is_by_the_gate(project, change):
            continue
        if cls is PathClass.SWITCH:
            from verdigris.languages.conventions import decides_verdicts

            drifted, rest = decides_verdicts(change.path), False
        else:
            drifted, rest = (True, False) if cls in ORACLE else parts_differ(project, change, old, new)
        if drifted:
            oracle.append(change.path)
        if cls is PathClass.SOURCE and rest:
            source.append(change)
        elif not drifted:
            other.append(change)
    return TreeDifference(tuple(source), tuple(oracle), tuple(other))


def _is_by_the_gate(project: Project, change: Change) -> bool:
    """Whether the gate itself wrote a client's settings like this, as after a move of the repository."""
    if change.new is None:
        return False
    (data,) = project.workspace.blobs((change.new,))
    written = (record.data for record in project.log.records(reverse=True) if record.type == _INSTALLED)
    last = next((write["after"][change.path] for write in written if change.path in write["after"]), None)
    return data is not None and last is not None and str(last).encode() == data


def source_roots(project: Project, tree: str) -> tuple[str, ...]:
    """Folders from which the modules of a tree are imported."""
    from verdigris.languages.registry import by_language

    paths = (entry.path for entry in project.workspace.files(tree))
    source = by_language(path for path in paths if project.classify(path) is PathClass.SOURCE)
    roots = (root for language, mine in source.items() for root in language.imports.roots(mine))
    return tuple(dict.fromkeys(roots))


def find_unclaimed(
    project: Project, ground: str, tree: str, *, limit: int | None = None
) -> tuple[Unclaimed, ...]:
    """Source that differs from the ground by more than stubs; `limit`: so many are enough."""
    source = difference(project, ground, tree).source
    if not source:
        return ()
    from verdigris.checks.source_edits import find_edits

    return find_edits(project, source, tree, limit=limit).found


def is_layout(project: Project, change: Change) -> bool:
    """Whether a formatter may have done it."""
    from verdigris.languages.registry import is_same_tree, language_for

    readable = language_for(change.path) is not None or "." not in change.path.rpartition("/")[2]
    if change.old is None or change.new is None or not readable:
        return False
    before, after = project.workspace.blobs((change.old, change.new))
    return before is not None and after is not None and is_same_tree(change.path, before, after)


def is_as_seen(project: Project, state: WorktreeState) -> bool:
    """Whether HEAD is where it was seen last, and only documents and the like differ from the ground."""
    now, before = head(project.repo), state.head
    if state.ground is None or before is None or (before.commit, before.on) != (now.commit, now.branch):
        return False
    from verdigris.languages.registry import is_mixed

    changed = (
        change.path for change in project.workspace.changes(state.ground, project.workspace.snapshot())
    )
    classes = ((path, project.classify(path)) for path in changed)
    return all(cls is PathClass.OTHER and not is_mixed(path, cls) for path, cls in classes)


def end_lost_reds(project: Project, state: WorktreeState) -> WorktreeState:
    """A red ends with its test, which can no longer be run."""
    gone = lost_reds(project, state, project.workspace.snapshot()) if state.reds else ()
    if not gone:
        return state
    project.record(RedsEnded(test_ids=gone))
    return project.state()


def lost_reds(project: Project, state: WorktreeState, tree: str) -> tuple[str, ...]:
    """Ids of the reds whose file or text is gone; those of open claims stay."""
    old = {i: red for i, red in state.reds.items() if i not in state.claims and red.tree != tree}
    return tuple(i for i, red in old.items() if is_cut_out(project, red.native_id, red.tree, tree))


def is_cut_out(project: Project, native: str, old: str, new: str) -> bool:
    """Whether the file or the text of a test is gone.

    A test that no reader finds in its old text may be created at run time: only a run shows whether it is.
    """
    path = split_id(native).path
    before, after = project.workspace.read(old, path), project.workspace.read(new, path)
    if before == after or after is None:
        return after is None
    from verdigris.languages.tests import is_written

    then, now = ((text or b"").decode("utf-8", "surrogateescape") for text in (before, after))
    return is_written(path, then, native) and not is_written(path, now, native)
