"""`tdd test-bug`: reports that a test is wrong; the edits wait for the revised test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.observation import difference
from verdigris.checks.source_edits import on_disk, only_for_tests
from verdigris.checks.test_reports import revised_reports, without_ended
from verdigris.core.actions import Deny, Do
from verdigris.core.errors import UserError
from verdigris.core.events import LayingAside, TestBug, TestBugClosed
from verdigris.core.paths import PathClass
from verdigris.core.state import Phase, WorktreeState
from verdigris.core.test_ids import split_id
from verdigris.core.turn_events import next_aside
from verdigris.core.value import value
from verdigris.execution.test_selection import baseline_ids
from verdigris.languages.registry import holds_tests, reader_of
from verdigris.languages.tests import find_test_at, is_made_by, written_tests
from verdigris.storage.paths import canonical
from verdigris.storage.project import Project, text_of
from verdigris.turns.aside import set_aside
from verdigris.turns.operation import operation, refusal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@value
class Reported:
    bug: str
    places: tuple[str, ...]
    aside: str | None
    paths: tuple[str, ...]
    phase: str = Phase.RED


@value
class _Named:
    place: str
    test: str
    """`PATH::NAME`"""


def report_bug(project: Project, places: Sequence[str], why: str, *, cwd: Path) -> Reported | Deny:
    with operation(project) as state:
        if denial := refusal(project, state, Do("test-bug")):
            return denial
        found = [_resolve_place(project, state, spelling, cwd) for spelling in places]
        named = tuple(one.place for one in found)
        tests = tuple(dict.fromkeys(one.test for one in found))
        tree = project.workspace.snapshot()
        bug = f"b{state.bugs + 1}"
        report = TestBug(bug=bug, places=named, why=why, tree=tree, tests=tests)
        if state.phase is not Phase.GREEN or state.turn is None:
            project.record(report, sync=True)
            return Reported(bug, named, None, (), state.phase)
        intent = _lay_turn_aside(project, state, state.turn.tree, tree, named)
        laid = set_aside(project, intent, report)
        aside = laid.aside if laid.paths else None
        return Reported(bug, named, aside, laid.paths, project.state().phase)


def _lay_turn_aside(
    project: Project, state: WorktreeState, start: str, tree: str, places: tuple[str, ...]
) -> LayingAside:
    edited = tuple(c.path for c in difference(project, start, tree).source)
    return LayingAside(
        aside=next_aside(state),
        paths=edited,
        edited=tree,
        start=start,
        why=f"test-bug at {places[0]}",
        test_ids=tuple(state.claims),
        back_at_claim=bool(edited),
    )


def close_bug(project: Project, bug: str) -> str:
    """`tdd test-bug close ID`: what became of the test that it was about."""
    with operation(project) as state:
        if bug not in state.test_bugs:
            known = ", ".join(state.test_bugs) or "none is open"
            raise UserError(f"there is no open test-bug {bug!r}: {known}.", hint="`tdd status` lists them")
        project.record(TestBugClosed(bug=bug, test_id=""), sync=True)
        report, tree = state.test_bugs[bug], project.workspace.snapshot()
        where = ", ".join(report.places)
        if not without_ended(project, {bug: report}, tree):
            return f"the test at {where} is gone"
        revised = revised_reports(project, [report], tree)
        return f"the test at {where} was revised" if revised else f"the test at {where} stays as it is"


def _resolve_place(project: Project, state: WorktreeState, spelling: str, cwd: Path) -> _Named:
    """FILE:LINE, or the id of a test."""
    name, colon, line = spelling.rpartition(":")
    by_id = "::" in spelling
    if not by_id and not (colon and line.isdigit()):
        raise UserError(
            f"expected FILE:LINE, got {spelling!r}.", hint='e.g. tdd test-bug tests/test_x.py:12 "why"'
        )
    path = canonical(project.root, split_id(spelling).path if by_id else name, cwd=cwd).path
    text = None if path is None else text_of(project, path)
    if path is None or text is None:
        raise UserError(
            f"there is no file in this repository for {spelling}.", hint="name the test file and line"
        )
    known = _known_ids(project, state)
    if by_id:
        wanted = path + spelling[len(split_id(spelling).path) :]
        found = next((t for t in written_tests(path, text, known) if is_made_by(path, t.name, wanted)), None)
    else:
        found = find_test_at(path, text, int(line), known)
    if found is None or not _is_test(project, path, found.first):
        raise UserError(
            f"{spelling} is not inside a test, and a test-bug is about the one test at its line.",
            hint="name a line of the test that is wrong; a person may give up more: `tdd revise`",
        )
    return _Named(f"{path}:{found.first if by_id else line}", f"{path}::{found.name}")


def _known_ids(project: Project, state: WorktreeState) -> frozenset[str]:
    """Ids that runs reported: a project's settings may name tests in unusual ways."""
    return frozenset(red.native_id for red in state.reds.values()) | (
        baseline_ids(project, state) or frozenset()
    )


def _is_test(project: Project, path: str, line: int) -> bool:
    cls = project.classify(path)
    if not holds_tests(path, cls):
        return cls is PathClass.TEST
    read = on_disk(project)
    regions = reader_of(path).test_regions()
    if regions is None:
        return False
    return only_for_tests(path, read) or regions.is_test_line(read(path) or b"", line)
