"""`tdd test-bug`: to say "the test is wrong, I stop" is easy; the edits wait for the revised test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.actions import Deny, Do
from verdigris.core.errors import UserError
from verdigris.core.events import Event, LayingAside, TestBug, TestBugClosed
from verdigris.core.oraclepart import holds_tests
from verdigris.core.pathclass import PathClass
from verdigris.core.policy import decide
from verdigris.core.rusttests import is_test_line
from verdigris.core.state import Phase
from verdigris.core.testids import split_id
from verdigris.core.turns import laying_aside
from verdigris.core.value import value
from verdigris.kernel import aside
from verdigris.kernel.observe import difference
from verdigris.kernel.operation import operation
from verdigris.kernel.paths import canonical
from verdigris.kernel.sourcetests import on_disk, only_for_tests

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from verdigris.core.state import WorktreeState
    from verdigris.kernel.project import Project


@value
class Reported:
    bug: str
    places: tuple[str, ...]
    aside: str | None
    paths: tuple[str, ...]


def report_bug(project: Project, places: Sequence[str], why: str, *, cwd: Path) -> Reported | Deny:
    with operation(project) as state:
        decision = decide(state, Do("test-bug"), project.settings)
        if isinstance(decision, Deny):
            return decision
        named = tuple(_place(project, spelling, cwd) for spelling in places)
        tree = project.workspace.snapshot()
        bug = f"b{state.bugs + 1}"
        report = TestBug(bug=bug, places=named, why=why, tree=tree)
        if state.phase is not Phase.GREEN or state.turn is None:
            project.record(report, sync=True)
            return Reported(bug, named, None, ())
        intent = _lay_turn_aside(project, state, state.turn.tree, tree, named)
        project.record(report, intent, sync=True)
        aside.carry_out(project, intent)
        return Reported(bug, named, intent.aside, intent.paths)


def _lay_turn_aside(
    project: Project, state: WorktreeState, start: str, tree: str, places: tuple[str, ...]
) -> LayingAside:
    edited = tuple(c.path for c in difference(project, start, tree).source)
    return laying_aside(
        state,
        paths=edited,
        edited=tree,
        start=start,
        why=f"test-bug at {places[0]}",
        test_ids=tuple(state.claims),
        back_at_claim=bool(edited),
    )


def _place(project: Project, spelling: str, cwd: Path) -> str:
    name, colon, line = spelling.rpartition(":")
    if not colon or not line.isdigit():
        raise UserError(f"{spelling!r} is no FILE:LINE.", hint='e.g. tdd test-bug tests/test_x.py:12 "why"')
    path = canonical(project.root, name, cwd=cwd).path
    if path is None or not (project.root / path).is_file():
        raise UserError(f"{name} is no file of this repository.", hint="name the test file and line")
    if not _is_test(project, path, int(line)):
        raise UserError(
            f"{path} is no test: a test-bug names the place in the test.", hint="name the test's line"
        )
    return f"{path}:{line}"


def _is_test(project: Project, path: str, line: int) -> bool:
    cls = project.classify(path)
    if not holds_tests(path, cls):
        return cls in {PathClass.TEST, PathClass.SPEC}
    read = on_disk(project)
    return only_for_tests(path, read) or is_test_line(read(path) or b"", line)


def closed_bugs(project: Project, state: WorktreeState, valid: Sequence[str], tree: str) -> tuple[Event, ...]:
    """Bugs whose file was revised since the report and now holds a valid red."""
    events = []
    for bug in state.test_bugs.values():
        files = {place.rpartition(":")[0] for place in bug.places}
        revised = {c.path for c in project.workspace.changes(bug.tree, tree)} & files
        red = next((i for i in valid if split_id(i).path in revised), None)
        if red is not None:
            events.append(TestBugClosed(bug=bug.id, test_id=red))
    return tuple(events)
