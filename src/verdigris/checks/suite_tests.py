"""The tests of a tree's suite: from a recorded run, or collected once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from verdigris.checks.observation import difference
from verdigris.core.events import SuiteCollected
from verdigris.core.policy.done import SuiteComparison
from verdigris.core.report import Status
from verdigris.core.test_ids import function_of, split_id
from verdigris.execution.test_run import collect, on_start_tree
from verdigris.languages.tests import is_revised, still_written
from verdigris.storage.project import Project, texts_at

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from verdigris.core.state import WorktreeState

    Tests = Mapping[str, Status | None]
    """Native id → how the test ended; None where it was not run."""


def read_tests_of(project: Project, record: str) -> Tests:
    data = project.workspace.blob_bytes(record) or b"{}"
    return {i: None if status is None else Status(status) for i, status in json.loads(data).items()}


def collected_event(project: Project, tree: str, tests: Tests) -> SuiteCollected:
    return SuiteCollected(tree=tree, record=record_of(project, tests))


def record_of(project: Project, tests: Tests) -> str:
    return project.workspace.blob(json.dumps(dict(tests), sort_keys=True).encode("ascii"))


def known_tests(project: Project, state: WorktreeState, tree: str) -> Tests | None:
    """The tests of a tree, if its suite was run or collected; only protected paths count."""
    if tree in state.collected:
        return read_tests_of(project, state.collected[tree])
    if state.baseline is None or difference(project, state.baseline.tree, tree).protected:
        return None
    return read_tests_of(project, state.baseline.record)


def collect_tests(project: Project, tree: str, now: str) -> Tests:
    """Collects the tests of a tree, and runs none. `now`: the worktree's tree."""
    paths = [change.path for change in project.workspace.changes(tree, now)] if tree != now else []
    with on_start_tree(project, start=tree, edited=now, paths=paths) as layer:
        return dict.fromkeys(sorted(collect(project, layer=layer)))


def compare_suites(
    project: Project, before: Tests, now: Tests, tree: str, revised: Collection[str]
) -> SuiteComparison:
    """Compares tests with those of the worktree's tree `tree`; looks which of the missing are written."""
    functions = {*map(function_of, now)}
    unseen = [test for test in before if test not in now and function_of(test) not in functions]
    texts = texts_at(project, tree, {split_id(test).path for test in unseen})
    given_up = frozenset(test for test in before if is_revised(test, revised)) if revised else frozenset()
    return SuiteComparison(before, now, frozenset(still_written(texts, unseen, [*now])), given_up)
