"""Formats the turn's source, runs claimed tests and suite in one call, and repeats suspicious tests."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.checks.acceptance import Answers, question_turn
from verdigris.checks.coverage import new_lines, run_suite_traced, watchable
from verdigris.checks.evidence import rewritten_files, run_events, suite_event, suite_names, test_events
from verdigris.checks.observation import Candidate, TreeDifference, difference, source_roots
from verdigris.checks.suite_tests import collect_tests, collected_event, compare_suites, known_tests
from verdigris.core.events import Formatted, Formatting, SuiteCollected, SuiteRun
from verdigris.core.paths import EXECUTABLE, FILE
from verdigris.core.policy.done import hidden_tests
from verdigris.core.report import RunEnd, Status, TestReport, TestResult
from verdigris.core.test_ids import split_id
from verdigris.core.value import field, replace, value
from verdigris.core.verdict import Before, Tool, regressions
from verdigris.execution.room import Layer, Room
from verdigris.execution.rooms import frozen_layer, layer_beside, possible, room
from verdigris.execution.test_run import (
    execute,
    on_start_tree,
    run_tool,
    run_tool_in,
    stat_tree,
    time_limit,
    touched_paths,
)
from verdigris.execution.test_selection import baseline_ids
from verdigris.languages.registry import is_traced
from verdigris.runners.protocol import Progress, TestRequest
from verdigris.storage.intents import finishes
from verdigris.storage.project import CONFIG, Project
from verdigris.storage.snapshots.restoration import list_displaced

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from verdigris.checks.suite_tests import Tests
    from verdigris.core.settings import Stack
    from verdigris.core.state import WorktreeState


@value
class Trial:
    tree: str
    report: TestReport
    before: Before = field(default_factory=lambda: Before({}))
    tools: tuple[Tool, ...] = ()
    drift: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    """Source that changed while the tests ran."""
    rewritten: tuple[str, ...] = ()
    """Source and frozen files that the run itself wrote."""
    seqs: Mapping[str, int] = field(default_factory=dict)
    """Native id → the event that records its run."""
    suite: SuiteRun | None = None
    collected: SuiteCollected | None = None
    """The tests of the ground, if they were looked up."""
    answers: Answers = field(default_factory=Answers)


def try_candidate(
    project: Project,
    state: WorktreeState,
    tree: str,
    edits: TreeDifference,
    progress: Progress | None,
    *,
    owe: bool = False,
) -> Trial:
    """`owe`: a person accepts code that no test runs."""
    before = stat_tree(project, tree)
    trial = _try_in_room(project, state, tree, edits, progress, owe=owe)
    return replace(trial, moved=tuple(dict.fromkeys((*trial.moved, *touched_paths(project, before)))))


def _try_in_room(
    project: Project,
    state: WorktreeState,
    tree: str,
    edits: TreeDifference,
    progress: Progress | None,
    *,
    owe: bool,
) -> Trial:
    claimed = tuple(c.native_id for c in state.claims.values())
    limit = time_limit(project, state)
    sources = source_roots(project, tree)
    room = frozen_layer(project, tree, {split_id(native).path for native in claimed})
    owed = (debt.path for debt in state.owed.values() if is_traced(debt.path))
    trace = tuple(dict.fromkeys((*watchable(edits), *owed)))
    start = tree if state.turn is None else state.turn.tree
    watched = new_lines(project, start, tree, edits)
    request = TestRequest(claimed, trace=trace, watch=watched, timeout=limit, sources=sources)
    places = {c.native_id: c.place for c in state.claims.values()}
    report = run_suite_traced(
        project, request, lambda result: _fails_otherwise(result, places), progress=progress, layer=room
    )
    during = difference(project, tree, project.workspace.snapshot())
    runs = test_events(project, report, tree)
    if any(run.red for run in runs):
        from verdigris.checks.known_failures import mark_failures

        runs = mark_failures(project, state, runs, tree, judged=True)
    asked = suite_names(project, claimed)
    recorded = project.record(*run_events(project, state, report, runs, asked, claimed))
    seqs = {record.data["native_id"]: record.seq for record in recorded if record.type == "test_run"}
    moved = tuple(c.path for c in during.source)
    rewritten = rewritten_files(project, report)
    trial = Trial(tree, report, drift=during.oracle, moved=moved, rewritten=rewritten, seqs=seqs)
    passed = {r.native_id for r in report.results if r.status is Status.PASS}
    untrusted = report.ended is not RunEnd.FINISHED or moved or during.oracle or rewritten
    if untrusted or not passed.issuperset(claimed):
        return trial
    candidate = None if state.turn is None else Candidate(project, state.turn.tree, tree, edits, room)
    ground, collected = ({}, None) if candidate is None else _ground_tests(candidate, state)
    before = Before({})
    if candidate is not None:
        before = _before(candidate, state, report, frozenset(claimed), ground)
    tools = tuple(
        run_tool(project, stack, "check", stack.check) for stack in project.settings.stacks if stack.check
    )
    suite = suite_event(project, report, tree)
    trial = replace(trial, before=before, tools=tools, suite=suite, collected=collected)
    lost = before.uncollected or regressions(before, report, claimed)
    if candidate is None or lost or not all(tool.ok for tool in tools):
        return trial
    answers = question_turn(candidate, state, claimed, report, owe=owe)
    return replace(trial, answers=answers)


def _fails_otherwise(result: TestResult, places: Mapping[str, str]) -> bool:
    """Whether a claimed test fails, and not where it was red."""
    failure = result.failure
    if result.native_id not in places or failure is None:
        return False
    place = failure.place
    return place is None or f"{place.path}:{place.line}" != places[result.native_id]


def _ground_tests(candidate: Candidate, state: WorktreeState) -> tuple[Tests, SuiteCollected | None]:
    """The tests of the ground, if they are known, or if no baseline is; and what to record of them.

    The turn's own start may lack tests already, by a configuration that was written before the claim.
    """
    project, ground = candidate.project, state.ground or candidate.start
    known = known_tests(project, state, ground)
    if known is not None or state.baseline is not None:
        return known or {}, None
    found = collect_tests(project, ground, candidate.tree)
    return found, collected_event(project, ground, found)


def _before(
    candidate: Candidate,
    state: WorktreeState,
    report: TestReport,
    claimed: frozenset[str],
    ground: Tests,
) -> Before:
    """Runs the tests that now fail or are missing on the turn's start tree: how they ended there."""
    project, tree, room = candidate.project, candidate.tree, candidate.room
    failing = {r.native_id for r in report.results if r.status in {Status.FAIL, Status.ERROR}} - claimed
    passed = baseline_ids(project, state)
    known = frozenset(ground) if passed is None else passed
    missing = known - {r.native_id for r in report.results} - claimed
    suspects = failing | missing
    if not suspects:
        return Before({})
    there = _run_at(candidate, state, candidate.start, suspects)
    was = {r.native_id: r.status for r in there.results if r.native_id in suspects}
    unloaded = failing.difference(was)
    if unloaded and state.ground is not None:
        # A file that needs what the change brings does not load without it, but on the ground it did.
        older = _run_at(candidate, state, state.ground, unloaded)
        was |= {r.native_id: r.status for r in older.results if r.native_id in unloaded}
    # What failed at the start is no loss: only what passed there is worth a second run here.
    doubtful = [native for native in failing if was.get(native) is Status.PASS]
    seen = {r.native_id for r in (*report.results, *there.results)}
    return Before(
        was,
        frozenset(_pass_this_time(project, state, doubtful, room)),
        _find_hidden(project, state, tree, {**dict.fromkeys(missing), **ground}, seen),
    )


def _run_at(candidate: Candidate, state: WorktreeState, start: str, tests: Iterable[str]) -> TestReport:
    """Runs the files of tests on the turn's start tree, or on an older one as a whole."""
    project, tree, paths = candidate.project, candidate.tree, list(candidate.paths)
    if start != candidate.start:
        paths = [change.path for change in project.workspace.changes(start, tree)]
    request = TestRequest(tuple(_existing_files(project, tests)), timeout=time_limit(project, state))
    with on_start_tree(project, start=start, edited=tree, paths=paths) as layer:
        return execute(project, request, layer=layer_beside(layer, candidate.room), within_suite=True)


def _find_hidden(
    project: Project, state: WorktreeState, tree: str, known: Tests, seen: Collection[str]
) -> tuple[str, ...]:
    """Unreported tests that are still written; what a person configured away is no loss."""
    before = state.ground if state.baseline is None else state.baseline.tree
    if not before or project.workspace.read(before, CONFIG) != project.workspace.read(tree, CONFIG):
        return ()
    return hidden_tests(compare_suites(project, known, dict.fromkeys(seen), tree, state.revised))


def _pass_this_time(
    project: Project, state: WorktreeState, failing: Iterable[str], room: Layer | None
) -> set[str]:
    names = sorted(failing)
    if not names:
        return set()
    again = execute(project, TestRequest(tuple(names), timeout=time_limit(project, state)), layer=room)
    return {r.native_id for r in again.results if r.status is Status.PASS and r.native_id in names}


def _existing_files(project: Project, suspects: Iterable[str]) -> list[str]:
    """Whole files rather than ids: an id that never existed there would stop the runner."""
    files = sorted({split_id(i).path for i in suspects})
    return [f for f in files if (project.root / f).is_file()]


Jobs = list[tuple["Stack", tuple[str, ...]]]
"""A stack and the turn's changed source in it, relative to the stack's root."""


def format_edits(project: Project, tree: str, paths: tuple[str, ...]) -> tuple[str, tuple[Tool, ...]]:
    """The tree after formatting, and how each formatter ended."""
    jobs = [(stack, _paths_inside(stack, paths)) for stack in project.settings.stacks if stack.format]
    jobs = [(stack, inside) for stack, inside in jobs if inside]
    if not jobs:
        return tree, ()
    if not possible(project).ok:
        return _in_place(project, tree, paths, jobs)
    after, tools = _in_rooms(project, tree, paths, jobs)
    changed = [change.path for change in project.workspace.changes(tree, after)]
    if changed:
        project.record(Formatting(paths=paths, tree=tree), sync=True)
        displaced = project.workspace.lay(after, changed, expect=tree)
        project.record(Formatted(tree=after, displaced=list_displaced(displaced)))
    return after, tools


def _in_rooms(project: Project, tree: str, paths: Sequence[str], jobs: Jobs) -> tuple[str, tuple[Tool, ...]]:
    """Each formatter finds what the one before has made."""
    after = tree
    tools = []
    for stack, inside in jobs:
        with room(project, layer=Layer(after, tree)) as made:
            tools.append(run_tool_in(made, project, stack, "format", stack.format or "", inside))
            after = project.workspace.compose(after, _written_files(made, paths))
    return after, tuple(tools)


def _written_files(made: Room, paths: Sequence[str]) -> dict[str, tuple[str, bytes] | None]:
    """Those files that the formatter changed; one that it deletes stays."""
    contents: dict[str, tuple[str, bytes] | None] = {}
    for path in paths:
        file = Path(made.confinement.upper, path)
        if file.is_file() and not file.is_symlink():
            mode = EXECUTABLE if file.stat().st_mode & stat.S_IXUSR else FILE
            contents[path] = (mode, file.read_bytes())
    return contents


def _in_place(
    project: Project, tree: str, paths: tuple[str, ...], jobs: Jobs
) -> tuple[str, tuple[Tool, ...]]:
    """Runs without a sandbox; what else it touched is put back."""
    project.record(Formatting(paths=paths, tree=tree), sync=True)
    tools = []
    for stack, inside in jobs:
        with room(project) as made:
            tools.append(run_tool_in(made, project, stack, "format", stack.format or "", inside))
    after = project.workspace.snapshot()
    strayed = [p for p in difference(project, tree, after).protected if p not in paths]
    displaced = project.workspace.lay(tree, strayed, expect=tree) if strayed else ()
    after = project.workspace.snapshot() if strayed else after
    project.record(Formatted(tree=after, displaced=list_displaced(displaced)))
    return after, tuple(tools)


def _paths_inside(stack: Stack, paths: tuple[str, ...]) -> tuple[str, ...]:
    """The paths below the stack's root, relative to it."""
    if stack.root in {".", ""}:
        return paths
    prefix = stack.root.rstrip("/") + "/"
    return tuple(p.removeprefix(prefix) for p in paths if p.startswith(prefix))


@finishes(Formatting)
def undo_formatting(project: Project, intent: Formatting) -> str:
    touched = difference(project, intent.tree, project.workspace.snapshot()).protected
    displaced = project.workspace.lay(intent.tree, {*intent.paths, *touched}, expect=intent.tree)
    undone = Formatted(tree=intent.tree, undone=True, displaced=list_displaced(displaced))
    project.record(undone, sync=True)
    return "undid an interrupted format"
