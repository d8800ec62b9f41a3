"""Decides whether a report of a wrong test has ended: its test passes, is gone, or was revised and run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.events import Event, TestBugClosed
from verdigris.core.policy.next_move import covers_test
from verdigris.core.report import Status
from verdigris.languages.tests import is_made_by, text_of_test
from verdigris.storage.project import Project, texts_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from verdigris.core.state import OpenTestBug, WorktreeState


def closed_bugs(
    project: Project, state: WorktreeState, ran: Mapping[str, Status], asked: Sequence[str], tree: str
) -> tuple[Event, ...]:
    """Reports that a run ends: their test passes, is gone, or was revised and then run.

    `ran`: native id → how it ended; `asked`: as for `ended_reds`.
    """
    left = without_ended(project, state.test_bugs, tree)
    revised = revised_reports(project, left.values(), tree)
    events = [TestBugClosed(bug=bug, test_id="") for bug in state.test_bugs if bug not in left]
    for bug in left.values():
        for test in bug.tests:
            path, _, name = test.partition("::")
            results = {native: status for native, status in ran.items() if is_made_by(path, name, native)}
            passed = bool(results) and set(results.values()) == {Status.PASS}
            looked_for = bool(results) or not asked or any(covers_test(word, test) for word in asked)
            if passed or (bug.id in revised and looked_for):
                events.append(TestBugClosed(bug=bug.id, test_id=next(iter(results), test)))
                break
    return tuple(events)


def without_ended(project: Project, bugs: Mapping[str, OpenTestBug], tree: str) -> Mapping[str, OpenTestBug]:
    """The reports with a test that still stands in its file."""
    return {
        bug.id: bug
        for bug in bugs.values()
        if not bug.tests or any(_texts(project, bug.tests, tree).values())
    }


def revised_reports(project: Project, bugs: Iterable[OpenTestBug], tree: str) -> frozenset[str]:
    """The reports of which a test reads otherwise than when it was reported."""
    return frozenset(bug.id for bug in bugs if is_revised(project, bug.tests, bug.tree, tree))


def is_revised(project: Project, tests: Sequence[str], old: str, new: str) -> bool:
    """Whether one of these tests (`PATH::NAME`) reads otherwise in `new`."""
    return old != new and _texts(project, tests, old) != _texts(project, tests, new)


def _texts(project: Project, tests: Sequence[str], tree: str) -> dict[str, str | None]:
    """Test → its text in a tree; None if it is gone."""
    files = texts_at(project, tree, dict.fromkeys(test.partition("::")[0] for test in tests))
    parts = {test: test.partition("::") for test in tests}
    return {test: text_of_test(path, files.get(path, ""), name) for test, (path, _, name) in parts.items()}
