"""Tells failures that were there before from those that a change or an edit brought."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from verdigris.checks.observation import difference
from verdigris.core.report import Status
from verdigris.core.state import Phase, WorktreeState
from verdigris.core.test_ids import split_id
from verdigris.core.value import replace
from verdigris.core.verdict.redness import BROKEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.events import TestRun
    from verdigris.storage.project import Project


def mark_failures(
    project: Project, state: WorktreeState, runs: tuple[TestRun, ...], tree: str, *, judged: bool = False
) -> tuple[TestRun, ...]:
    """Marks failures that the ground has too, and in green and refactor those that the edit brought.

    `judged`: a settlement made the run, and accepts no failure that its start tree does not have.
    """
    failed = [run for run in runs if run.red is not None and run.test_id not in state.claims]
    if not failed or state.open_cycle is not None:
        return runs
    broken: frozenset[str] = frozenset()
    if state.phase is Phase.RED:
        on_ground = _known(project, state, failed, tree)
    else:
        broken = _broken(project, state, failed)
        tests, ground = _Tests(project, tree), state.ground or tree
        told = {red.native_id for red in state.reds.values() if red.known}
        stood = {run.native_id for run in failed if judged and tests.is_same(run.native_id, ground)}
        on_ground = frozenset(run.native_id for run in failed).intersection(told | stood) - broken
    marked = {
        run.native_id: replace(
            run, red=BROKEN if run.native_id in broken else run.red, known=run.native_id in on_ground
        )
        for run in failed
    }
    return tuple(marked.get(run.native_id, run) for run in runs)


def _known(project: Project, state: WorktreeState, failed: Sequence[TestRun], tree: str) -> frozenset[str]:
    """Tests as they stand on the ground, which failed in a run of it, or fail over its source.

    What was told once stays so while the test reads the same: a red that is committed is still this change's.
    """
    ground = state.ground
    if ground is None:
        return frozenset()
    tests = _Tests(project, tree)
    record = _record_of(project, state, ground)
    over_ground = ground == tree or not difference(project, ground, tree).source
    failing = set()
    for run in (run for run in failed if not run.over):  # nothing that source lacks failed before
        earlier = state.reds.get(run.test_id)
        if earlier is not None and tests.is_same(run.native_id, earlier.tree):
            is_known = earlier.known
        elif not tests.is_same(run.native_id, ground):
            is_known = False
        else:
            before = record.get(run.native_id)
            is_known = over_ground if before is None else before != Status.PASS
        if is_known:
            failing.add(run.native_id)
    return frozenset(failing)


def _broken(project: Project, state: WorktreeState, failed: Sequence[TestRun]) -> frozenset[str]:
    """Tests that passed in the last run of the suite before the turn, and read as they did then."""
    if state.refactor is not None:
        record, then, start = state.refactor.record, state.refactor.tree, state.refactor.tree
    elif state.turn is not None and state.baseline is not None:
        record, then, start = state.baseline.record, state.baseline.tree, state.turn.tree
    else:
        return frozenset()
    statuses, tests = _statuses(project, record), _Tests(project, start)
    broken = set()
    for run in failed:
        earlier = state.reds.get(run.test_id)
        if earlier is not None:
            is_broken = earlier.why == BROKEN
        else:
            is_broken = statuses.get(run.native_id) == Status.PASS and tests.is_same(run.native_id, then)
        if is_broken:
            broken.add(run.native_id)
    return frozenset(broken)


def _record_of(project: Project, state: WorktreeState, ground: str) -> dict[str, str]:
    """How each test ended on the ground, where its suite was run."""
    baseline = state.baseline
    if baseline is None or difference(project, baseline.tree, ground).protected:
        return {}
    return _statuses(project, baseline.record)


def _statuses(project: Project, record: str) -> dict[str, str]:
    statuses: dict[str, str] = json.loads(project.workspace.blob_bytes(record) or b"{}")
    return statuses


class _Tests:
    """The tests of a tree, compared with those of others; thousands may fail at once."""

    def __init__(self, project: Project, tree: str) -> None:
        self._workspace = project.workspace
        self._tree = tree
        self._changed: dict[str, frozenset[str]] = {tree: frozenset()}

    def is_same(self, native: str, old: str) -> bool:
        """Whether a test stood in the old tree too, and reads the same."""
        if old not in self._changed:
            changes = self._workspace.changes(old, self._tree)
            self._changed[old] = frozenset(change.path for change in changes)
        path = split_id(native).path
        if path not in self._changed[old]:
            return True
        from verdigris.languages.tests import text_of_test

        name = native[len(path) + 2 :]
        texts = [
            (self._workspace.read(tree, path) or b"").decode("utf-8", "surrogateescape")
            for tree in (old, self._tree)
        ]
        before, after = (text_of_test(path, text, name) for text in texts)
        return before is not None and before == after
